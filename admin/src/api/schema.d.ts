// Generated from the OpenAPI document: `npm run admin:types`. Do not edit.
export interface paths {
  '/admin/session': {
    /** Sign in to the admin UI: the answer sets the cookie of a session */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['SignInInput'] } }
      responses: {
        204: { headers: Record<string, string>; content?: never }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Who is signed in */
    get: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          name: string
          role: 'viewer' | 'support' | 'administrator'
          signedInAt: string
          /** It ends earlier when it is not used */
          expiresAt: string
        } } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Sign out */
    delete: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        204: { headers: Record<string, string>; content?: never }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/sessions': {
    /** Open sessions, the last seen first */
    get: {
      parameters: {
        query?: {
          /** `everybody` needs the role administrator */
          of?: 'me' | 'everybody'
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          data: ({
            sessionId: string
            name: string
            role: 'viewer' | 'support' | 'administrator'
            signedInAt: string
            /** Written at most once a minute */
            lastSeenAt: string
            expiresAt: string
            address: string
            userAgent: string
            /** The session of this request */
            current: boolean
          })[]
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** End all sessions of an administrator */
    delete: {
      parameters: {
        query?: {
          /** Your own when absent; another one needs the role administrator */
          administrator?: string
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          ended: number
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/sessions/{sessionId}': {
    /** End a session; one of another administrator needs the role administrator */
    delete: {
      parameters: {
        query?: never
        header?: never
        path: {
          sessionId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          ended: number
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox': {
    /** What capture kept, newest first */
    get: {
      parameters: {
        query?: {
          /** Part of the subject or of a recipient; upper and lower case are the same */
          search?: string
          /** false: `html` and `text` are null, for a list */
          content?: 'true' | 'false'
          cursor?: string
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          data: (components['schemas']['CapturedListed'])[]
          cursor: string | null
          hasMore: boolean
        } } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Delete all captured messages */
    delete: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          deleted: number
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox/{messageId}': {
    /** One captured message, with its links */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          messageId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['CapturedMessage'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Delete one captured message */
    delete: {
      parameters: {
        query?: never
        header?: never
        path: {
          messageId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          deleted: true
          messageId: string
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox/{messageId}/source': {
    /** The message as a mail server would get it */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          messageId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'text/plain': string } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        410: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox/{messageId}/preview': {
    /** The HTML for a sandboxed frame: it runs nothing, and loads images only when asked to */
    get: {
      parameters: {
        query?: {
          remote?: 'true' | 'false'
        }
        header?: never
        path: {
          messageId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'text/html': string } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        410: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox/{messageId}/attachments/{index}': {
    /** One attachment, as a file */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          messageId: string
          index: number
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/octet-stream': string } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        410: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/suppression': {
    /** The suppression list, newest first */
    get: {
      parameters: {
        query?: {
          reason?: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
          /** A company, or global */
          company?: string
          /** A hash, its first digits (four or more), or an address; POST keeps an address out of URLs */
          search?: string
          addedAfter?: string
          addedBefore?: string
          /** Includes what never expires */
          expiresAfter?: string
          expiresBefore?: string
          expires?: 'never'
          sort?: 'addedAt' | 'expiresAt'
          order?: 'desc' | 'asc'
          cursor?: string
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['SuppressionPage'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Put an address on the list by hand */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['AddSuppressionInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          added: boolean
          emailHash: string
          expiresAt: string | null
        } } }
        201: { headers: Record<string, string>; content: { 'application/json': {
          added: boolean
          emailHash: string
          expiresAt: string | null
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/suppression/search': {
    /** The same, with an address that does not end up in a URL */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['SearchSuppressionsInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['SuppressionPage'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/suppression/stats': {
    /** How many, how often they stop mail, and how they grow */
    get: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['SuppressionStats'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/suppression/{emailHash}': {
    /** One entry with its history */
    get: {
      parameters: {
        query?: {
          /** Needed when several lists have the address */
          company?: string
        }
        header?: never
        path: {
          emailHash: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['SuppressionDetails'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
    /** Take it off the list, and say why; complaints stay */
    delete: {
      parameters: {
        query?: {
          /** Needed when several lists have the address */
          company?: string
        }
        header?: never
        path: {
          emailHash: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['RemoveSuppressionByAdminInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          removed: true
          emailHash: string
          removedBy: string
          removedAt: string
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/companies': {
    /** Companies, their bounce and complaint rates, who is warned or paused, and whose webhooks are disabled */
    get: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          data: (components['schemas']['CompanyStanding'])[]
        } } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/companies/{companyId}/audit': {
    /** Who warned, paused or resumed it, when and why; newest first */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          companyId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          data: ({
            action: 'WARNED' | 'WARNING_ENDED' | 'PAUSED' | 'RESUMED'
            reason: string
            performedBy: string
            performedAt: string
            metadata: Record<string, unknown>
          })[]
        } } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/companies/{companyId}/pause': {
    /** Pause a company: its mail waits */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          companyId: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['CompanyReasonInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          companyId: string
          paused: boolean
          reason: string
          performedBy: string
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        409: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/companies/{companyId}/resume': {
    /** Resume a company: its mail goes on, and its figures begin anew */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          companyId: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['CompanyReasonInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          companyId: string
          paused: boolean
          reason: string
          performedBy: string
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        409: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/people/erase': {
    /** Erase a person: every e-mail and record of this address, document or external id */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['PersonInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['ErasureReceipt'] } }
        202: { headers: Record<string, string>; content: { 'application/json': components['schemas']['ErasureReceipt'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/people/erasures/{receiptId}': {
    /** The receipt of an erasure */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          receiptId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['ErasureReceipt'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/people/export': {
    /** Everything that is kept about a person, as one JSON document */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['PersonInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['PersonExport'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/stats': {
    /** The KPIs of the e-mails accepted in a range: delivered, how fast, recovered, failed */
    get: {
      parameters: {
        query?: {
          /** A week ago when absent */
          from?: string
          /** Now when absent */
          to?: string
          /** Id or name; every company when absent */
          company?: string
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['Stats'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/queue/process': {
    /** Bring scheduled retries forward */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['ProcessQueueByAdminInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          processed: number
          outboxIds: (string)[]
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
}

export interface components {
  schemas: {
    AddSuppressionInput: {
      email?: string
      emailHash?: string
      reason?: 'MANUAL'
      /** 0: for ever */
      expiresInDays?: number
      /** The list of one company instead of the global one */
      company?: string
      justification: string
    }
    CapturedListed: {
      messageId: string
      outboxId: string
      companyId: string
      capturedAt: string
      message: {
        from: string
        to: (string)[]
        cc: (string)[]
        bcc: (string)[]
        replyTo: (string)[]
        subject: string
        html: string | null
        text: string | null
        headers: Record<string, string>
        attachments: ({
          filename: string
          contentType: string
          contentId: string | null
          bytes: number
        })[]
      }
      /** How the text begins */
      snippet: string
    }
    CapturedMessage: {
      messageId: string
      outboxId: string
      companyId: string
      capturedAt: string
      message: {
        from: string
        to: (string)[]
        cc: (string)[]
        bcc: (string)[]
        replyTo: (string)[]
        subject: string
        html: string | null
        text: string | null
        headers: Record<string, string>
        attachments: ({
          filename: string
          contentType: string
          contentId: string | null
          bytes: number
        })[]
      }
      /** At most 200, each address once */
      links: ({
        href: string
        text: string
      })[]
      /** The HTML names images of other hosts */
      remoteImages: boolean
    }
    CompanyReasonInput: {
      reason: string
    }
    CompanyStanding: {
      companyId: string
      name: string
      state: 'active' | 'warned' | 'paused'
      /** Recipients of the last 24 hours, or since the company was resumed */
      sent: number
      /** Permanent bounces among them */
      bounced: number
      complained: number
      bounceRate: number
      complaintRate: number
      warnedAt: string | null
      warnReason: string | null
      pausedAt: string | null
      pauseReason: string | null
      /** `reputation`, or who paused it */
      pausedBy: string | null
      webhooks: {
        enabled: number
        /** Enabled, and nothing taken since an attempt failed */
        failing: number
        /** By the gateway, for what they answered; the last one first */
        disabled: ({
          webhookId: string
          reason: 'GONE' | 'FAILING'
          disabledAt: string
        })[]
      }
      createdAt: string
    }
    ErasureReceipt: {
      receiptId: string
      /** The gateway goes on by itself until it is done */
      state: 'searching' | 'erasing' | 'done'
      /** false: this erasure found nothing. See unfinished */
      found: boolean
      erased: {
        emails: number
        cancelled: number
        recipients: number
        recipientRecords: number
        contents: number
        attachments: number
        events: number
        captured: number
        providerEvents: number
        webhookDeliveries: number
        deadLetters: number
        idempotencyAnswers: number
      }
      /** E-mails that are being sent, or wait for other recipients; erased when they have ended */
      waiting: number
      /** Earlier erasures of the same person that are not done yet */
      unfinished: ({
        receiptId: string
        waiting: number
      })[]
      /** Recipient records that erased e-mails belonged to, and that have another address now. They are kept, since families share addresses: if they are of this person, erase by cpf or externalId, too */
      recordsKept: number
      /** null: in every company */
      companyId: string | null
      /** Keyed hashes of the given identifiers, as in the audit log */
      subjectHashes: (string)[]
      requestedBy: string
      requestedAt: string
      finishedAt: string | null
    }
    PersonExport: {
      exportedAt: string
      addresses: (string)[]
      /** Recipient records, with the decrypted document as cpfCnpj */
      records: (Record<string, unknown>)[]
      /** For each address, whether it is suppressed and why */
      suppressions: (Record<string, unknown>)[]
      /** Oldest first, with content, names of the attachments and events */
      emails: (Record<string, unknown>)[]
      /** Recipient records that these e-mails belong to, and that have another address now. If they are of this person, export by cpf or externalId, too */
      recordsLeftOut: number
    }
    PersonInput: {
      /** An address, or any text that was given as one: it is then compared as a whole */
      email?: string
      /** A CPF or CNPJ */
      cpf?: string
      /** The company's own id of the recipient */
      externalId?: string
      /** Id or name; every company when absent */
      company?: string
    }
    Problem: {
      type: string
      title: string
      status: number
      /** Stable; programs decide by this */
      code: string
      message: string
      detail?: string
      requestId: string
      errors?: ({
        path: string
        code: string
        message: string
      })[]
      /** Hash of the suppressed address */
      recipient?: string
    }
    ProcessQueueByAdminInput: {
      limit?: number
      /** Without it: of every company */
      companyId?: string
    }
    RemoveSuppressionByAdminInput: {
      justification: string
    }
    SearchSuppressionsInput: {
      reason?: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
      /** A company, or global */
      company?: string
      /** A hash, its first digits (four or more), or an address; POST keeps an address out of URLs */
      search?: string
      addedAfter?: string
      addedBefore?: string
      /** Includes what never expires */
      expiresAfter?: string
      expiresBefore?: string
      expires?: 'never'
      sort?: 'addedAt' | 'expiresAt'
      order?: 'desc' | 'asc'
      cursor?: string
      limit?: number
    }
    SignInInput: {
      name: string
      password: string
    }
    Stats: {
      /** The beginning of the first hour */
      from: string
      to: string
      /** Later events are not counted yet */
      countedUntil: string
      /** null: every company */
      companyId: string | null
      emails: {
        accepted: number
        /** Delivered, or taken by the provider and not returned */
        delivered: number
        /** Rejected, failed, expired or bounced for good */
        failed: number
        /** Delivered after their first attempt had failed */
        recovered: number
        /** Failed after their first attempt had failed and was repeated */
        notRecovered: number
      }
      kpis: {
        finalDeliveryRate: {
          /** Delivered of all that have ended, 0 to 1; null: no e-mail to measure */
          value: number | null
          target: string
          met: boolean | null
        }
        meanSecondsToDelivery: {
          /** Seconds; null: no e-mail to measure */
          value: number | null
          target: string
          met: boolean | null
        }
        recoveryRate: {
          /** Delivered of those whose first attempt failed, 0 to 1; null: no e-mail to measure */
          value: number | null
          target: string
          met: boolean | null
        }
        finalFailureRate: {
          /** Failed of all that have ended, 0 to 1; null: no e-mail to measure */
          value: number | null
          target: string
          met: boolean | null
        }
      }
    }
    SuppressionDetails: {
      id: string
      /** Only on the list of one company */
      companyId?: string
      emailHash: string
      reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
      addedAt: string
      /** null: never */
      expiresAt: string | null
      metadata: Record<string, unknown>
      updatedAt: string
      /** The last hundred */
      auditLog: ({
        action: 'ADDED' | 'REMOVED' | 'EXPIRED'
        /** system, a company, an administrator, or cli:<user> */
        performedBy: string
        performedAt: string
        reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
        justification?: string
      })[]
    }
    SuppressionPage: {
      data: ({
        id: string
        /** Only on the list of one company */
        companyId?: string
        emailHash: string
        reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
        addedAt: string
        /** null: never */
        expiresAt: string | null
        metadata: Record<string, unknown>
      })[]
      cursor: string | null
      hasMore: boolean
    }
    SuppressionStats: {
      active: {
        total: number
        HARD_BOUNCE: number
        COMPLAINT: number
        MANUAL: number
      }
      last24Hours: {
        requests: number
        blocked: number
        /** blocked ÷ requests × 100 */
        hitRate: number
      }
      /** The last 30 days (UTC), oldest first */
      growth: ({
        day: string
        added: number
        removed: number
        expired: number
        net: number
      })[]
    }
  }
}
