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
  '/admin/session/link': {
    /** Sign in by the token of a link, which works once */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['SignInByLinkInput'] } }
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
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/inbox/{messageId}': {
    /** One captured message */
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
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
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
  '/admin/overview': {
    /** Is it healthy? E-mails over time, what waits, the providers, and what needs attention */
    get: {
      parameters: {
        query?: {
          range?: '1h' | '24h' | '7d' | '30d'
          /** Id or name; every company when absent */
          company?: string
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['Overview'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/live': {
    /** Counts of the queue and changed e-mails as they happen, as server-sent events; ends with the session */
    get: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'text/event-stream': string } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/emails': {
    /** E-mails of every company, newest first: look-ups, or filters within a time range */
    get: {
      parameters: {
        query?: {
          status?: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
          /** Its id */
          company?: string
          tag?: string
          /** The type of a template */
          template?: string
          /** Both when absent */
          mode?: 'live' | 'test'
          /** Accepted since; a week before `to` when absent, all for a look-up */
          from?: string
          /** Accepted before; now when absent */
          to?: string
          /** The cursor `older` of a page */
          olderThan?: string
          /** The cursor `newer` of a page */
          newerThan?: string
          /** Look-up of one e-mail */
          id?: string
          /** Look-up by the hash of an address; POST keeps an address out of URLs */
          recipient?: string
          /** Look-up */
          externalId?: string
          /** Look-up by the message id of the provider */
          messageId?: string
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['AdminEmailList'] } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/emails/search': {
    /** Look up whatever was given: an id, an address, an external id or a message id */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['SearchEmailsInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['AdminEmailList'] } }
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
  '/admin/emails/{outboxId}': {
    /** One e-mail: what happened, why, its attempts, recipients and webhooks */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['AdminEmail'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/emails/{outboxId}/content': {
    /** HTML, text and headers as they were accepted, and the list of attachments; not for viewers */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': components['schemas']['AdminEmailContent'] } }
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
  '/admin/emails/{outboxId}/preview': {
    /** The HTML as a page that runs and loads nothing; images of other hosts only when asked for */
    get: {
      parameters: {
        query?: {
          images?: 'blocked' | 'remote'
        }
        header?: never
        path: {
          outboxId: string
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
  '/admin/emails/{outboxId}/source': {
    /** The message as MIME, as a provider would get it */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: { headers: Record<string, string>; content: { 'message/rfc822': string } }
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
  '/admin/emails/{outboxId}/attachments/{ordinal}': {
    /** One attachment, as a download */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
          ordinal: number
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
  '/admin/emails/{outboxId}/resend': {
    /** Send an e-mail that has ended once more, as a new e-mail; all checks are made again */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['ResendEmailInput'] } }
      responses: {
        202: { headers: Record<string, string>; content: { 'application/json': {
          outboxId: string
          resendOf: string
        } } }
        400: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        401: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        403: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        404: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        409: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        410: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        413: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        415: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        422: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        429: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
        503: { headers: Record<string, string>; content: { 'application/problem+json': components['schemas']['Problem'] } }
      }
    }
  }
  '/admin/emails/{outboxId}/cancel': {
    /** Cancel what has not started, and say why */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['CancelEmailInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          outboxId: string
          status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
          scheduledAt: string | null
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
  '/admin/emails/{outboxId}/reschedule': {
    /** Move what has not started to another time; a time that has passed means now */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          outboxId: string
        }
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['RescheduleEmailByAdminInput'] } }
      responses: {
        200: { headers: Record<string, string>; content: { 'application/json': {
          outboxId: string
          status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
          scheduledAt: string | null
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
    AdminEmail: {
      outboxId: string
      companyId: string
      requestId: string
      externalId: string | null
      /** PENDING after the 202 (event QUEUED), until its first attempt begins */
      status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
      /** null: it came by SQL, and gets its sender when it is sent */
      from: string | null
      to: (string)[]
      cc: (string)[]
      bcc: (string)[]
      subject: string | null
      templateType: string | null
      tags: (string)[]
      attempts: number
      maxAttempts: number
      provider: string | null
      messageId: string | null
      lastError: {
        /** The gateway's own code */
        code: string
        /** The provider's own code, if it gave one */
        providerCode: string | null
        category: string | null
        message: string
      } | null
      createdAt: string
      scheduledAt: string | null
      nextAttemptAt: string | null
      sentAt: string | null
      deliveredAt: string | null
      failedAt: string | null
      expiresAt: string
      durationMs: number | null
      /** The e-mail that this one sends again */
      resendOf: string | null
      companyName: string
      /** Of a test key: it never left the gateway */
      test: boolean
      explanation: components['schemas']['Explanation']
      events: (components['schemas']['EmailEvent'])[]
      attemptList: ({
        provider: string
        attemptId: string | null
        startedAt: string
        endedAt: string | null
        durationMs: number | null
        end: 'sent' | 'retry' | 'throttled' | 'unconnected' | 'parked' | 'rejected' | 'failed' | 'unknown' | 'running'
        /** The gateway's own code */
        code: string | null
        /** The provider's own code */
        providerCode: string | null
        /** The provider's answer, or the message id */
        message: string | null
        retryInMs: number | null
      })[]
      recipients: ({
        kind: 'to' | 'cc' | 'bcc'
        /** null: erased */
        address: string | null
        name: string | null
        status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
        /** It got no copy, because it was on the suppression list */
        suppressed: boolean
        /** The entry that would stop an e-mail to it now */
        suppression: {
          emailHash: string
          reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
          /** null: on the global list */
          companyId: string | null
          companyName: string | null
          addedAt: string
          expiresAt: string | null
        } | null
      })[]
      webhooks: ({
        webhookId: string
        deliveryId: string
        url: string
        type: string
        status: 'waiting' | 'delivered' | 'failed'
        attempts: number
        createdAt: string
        lastAttemptAt: string | null
        nextAttemptAt: string | null
        lastStatus: number | null
        lastError: string | null
        lastDurationMs: number | null
      })[]
      priority: number
      retryPolicy: string | null
      onUnknown: 'resend' | 'hold'
      contentGone: boolean
      attachments: number
      /** The e-mails that sent this one again */
      resentAs: (string)[]
      /** What its state allows; the role is checked when it is asked for */
      may: {
        resend: boolean
        cancel: boolean
        reschedule: boolean
      }
    }
    AdminEmailContent: {
      html: string | null
      text: string | null
      /** That the request gave */
      headers: Record<string, string>
      replyTo: (string)[]
      /** Of a template that is not rendered yet */
      variables: Record<string, unknown> | null
      /** The HTML names images or styles of other hosts; the preview blocks them */
      hasRemoteContent: boolean
      attachments: ({
        ordinal: number
        filename: string
        contentType: string
        contentId: string | null
        size: number
      })[]
    }
    AdminEmailList: {
      /** Newest first */
      data: (components['schemas']['AdminEmailSummary'])[]
      /** What was looked up; a recipient by the hash of the address */
      lookup: {
        by: 'id' | 'recipient' | 'externalId' | 'messageId'
        value: string
      } | null
      /** The time range that was searched; null: a look-up in all e-mails */
      range: {
        from: string
        to: string
      } | null
      /** Set when the search stopped before the end of the range, to answer soon: the page goes on from there */
      searchedTo: string | null
      /** For olderThan: the next page */
      older: string | null
      /** For newerThan: the page before */
      newer: string | null
      /** Entries of the address that was looked up, also when it never got an e-mail */
      suppression: ({
        emailHash: string
        reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
        /** null: on the global list */
        companyId: string | null
        companyName: string | null
        addedAt: string
        expiresAt: string | null
      })[] | null
    }
    AdminEmailSummary: {
      outboxId: string
      companyId: string
      requestId: string
      externalId: string | null
      /** PENDING after the 202 (event QUEUED), until its first attempt begins */
      status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
      /** null: it came by SQL, and gets its sender when it is sent */
      from: string | null
      to: (string)[]
      cc: (string)[]
      bcc: (string)[]
      subject: string | null
      templateType: string | null
      tags: (string)[]
      attempts: number
      maxAttempts: number
      provider: string | null
      messageId: string | null
      lastError: {
        /** The gateway's own code */
        code: string
        /** The provider's own code, if it gave one */
        providerCode: string | null
        category: string | null
        message: string
      } | null
      createdAt: string
      scheduledAt: string | null
      nextAttemptAt: string | null
      sentAt: string | null
      deliveredAt: string | null
      failedAt: string | null
      expiresAt: string
      durationMs: number | null
      /** The e-mail that this one sends again */
      resendOf: string | null
      companyName: string
      /** Of a test key: it never left the gateway */
      test: boolean
    }
    CancelEmailInput: {
      reason: string
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
    EmailEvent: {
      type: 'QUEUED' | 'RECEIVED' | 'VALIDATED' | 'VALIDATION_FAILED' | 'SENT_ATTEMPT' | 'SENT' | 'FAILED' | 'RETRY_SCHEDULED' | 'DELIVERED' | 'BOUNCE' | 'COMPLAINT' | 'REJECTED' | 'DLQ_MOVED' | 'EXPIRED' | 'CANCELLED' | 'REPLAYED' | 'UNKNOWN' | 'RESOLVED'
      createdAt: string
      metadata: Record<string, unknown>
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
    Explanation: {
      outboxId: string
      status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
      /** The current state and its reason, in one sentence */
      summary: string
      /** What happens next */
      next: string | null
      nextAt: string | null
      /** E-mails of this company that go first */
      aheadInCompany: number | null
      /** Companies that have mail ready */
      companiesSharing: number | null
      /** Set while every provider in use is parked */
      parkedProviders: (string)[] | null
      attempts: number
      maxAttempts: number
      lastError: {
        /** The gateway's own code */
        code: string
        /** The provider's own code, if it gave one */
        providerCode: string | null
        category: string | null
        message: string
      } | null
    }
    Overview: {
      range: {
        from: string
        to: string
        bucketSeconds: number
      }
      /** The series and totals hold everything up to this moment */
      countedUntil: string
      /** Events of live e-mails, oldest bucket first */
      series: ({
        at: string
        accepted: number
        sent: number
        delivered: number
        bounced: number
        complained: number
        /** Failed, rejected or expired */
        failed: number
      })[]
      totals: {
        accepted: number
        sent: number
        delivered: number
        bounced: number
        complained: number
        /** Failed, rejected or expired */
        failed: number
      }
      queue: components['schemas']['QueueCounts']
      providers: ({
        name: string
        /** parked: its mail waits until nextProbeAt; open: the next e-mail tries it */
        state: 'healthy' | 'parked' | 'open'
        reason: string | null
        nextProbeAt: string | null
        /** Attempts, over the last ten seconds */
        ratePerSecond: number
        /** What it allows; null: no limit is known */
        maxPerSecond: number | null
      })[]
      attention: ({
        kind: 'dead-letters' | 'provider-parked' | 'no-worker' | 'waiting-long' | 'unknown-sends' | 'company-paused' | 'company-warned' | 'webhooks-disabled'
        count: number
        since: string | null
        /** An error code, the name of a provider, or why */
        code: string | null
        companyId: string | null
        companyName: string | null
      })[]
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
    QueueCounts: {
      ready: number
      scheduled: number
      unknown: number
      /** Of the ready e-mails, since it was due; null: none is ready */
      oldestWaitingSeconds: number | null
      /** Those that can still be replayed */
      deadLetters: number
    }
    RemoveSuppressionByAdminInput: {
      justification: string
    }
    RescheduleEmailByAdminInput: {
      scheduledAt: string
      reason?: string
    }
    ResendEmailInput: {
      reason?: string
    }
    SearchEmailsInput: {
      status?: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
      /** Its id */
      company?: string
      tag?: string
      /** The type of a template */
      template?: string
      /** Both when absent */
      mode?: 'live' | 'test'
      /** Accepted since; a week before `to` when absent, all for a look-up */
      from?: string
      /** Accepted before; now when absent */
      to?: string
      /** The cursor `older` of a page */
      olderThan?: string
      /** The cursor `newer` of a page */
      newerThan?: string
      /** An id, an address or its hash, an external id or a message id */
      search: string
      limit?: number
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
    SignInByLinkInput: {
      token: string
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
