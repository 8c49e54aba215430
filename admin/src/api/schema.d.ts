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
        204: Answer<never>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          name: string
          role: 'viewer' | 'support' | 'administrator'
          signedInAt: string
          /** It ends earlier when it is not used */
          expiresAt: string
        } }>
        401: Refusal
        429: Refusal
        503: Refusal
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
        204: Answer<never>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
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
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          ended: number
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          ended: number
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        404: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        401: Refusal
        403: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        401: Refusal
        403: Refusal
        404: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['SuppressionPage'] }>
        400: Refusal
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          added: boolean
          emailHash: string
          expiresAt: string | null
        } }>
        201: Answer<{ 'application/json': {
          added: boolean
          emailHash: string
          expiresAt: string | null
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['SuppressionPage'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['SuppressionStats'] }>
        400: Refusal
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['SuppressionDetails'] }>
        400: Refusal
        401: Refusal
        404: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          removed: true
          emailHash: string
          removedBy: string
          removedAt: string
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        404: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/suppression/ended': {
    /** Entries that are no longer on the list: removed with which justification, or expired; newest first */
    get: {
      parameters: {
        query?: {
          ending?: 'REMOVED' | 'EXPIRED'
          cursor?: string
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['EndedSuppressions'] }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/suppression/{emailHash}/history': {
    /** One address on all lists, with every change: also when it is on none any more */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          emailHash: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['SuppressionHistory'] }>
        401: Refusal
        404: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/suppression/look-up': {
    /** The same by an address, which does not end up in a URL; empty lists when it never was suppressed */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['LookUpSuppressionInput'] } }
      responses: {
        200: Answer<{ 'application/json': components['schemas']['SuppressionHistory'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/bulk-actions': {
    /** Replay or purge many dead letters, or import suppressions: carried out by a worker, in batches */
    post: {
      parameters: {
        query?: never
        header?: never
        path?: never
        cookie?: never
      }
      requestBody: { content: { 'application/json': components['schemas']['NewBulkActionInput'] } }
      responses: {
        202: Answer<{ 'application/json': components['schemas']['BulkAction'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
    /** Bulk actions, newest first */
    get: {
      parameters: {
        query?: {
          kind?: 'replay-dead-letters' | 'purge-dead-letters' | 'import-suppressions'
          /** Only those that have not ended */
          open?: 'true' | 'false'
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': {
          data: (components['schemas']['BulkAction'])[]
        } }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/bulk-actions/{actionId}': {
    /** One bulk action and its progress */
    get: {
      parameters: {
        query?: never
        header?: never
        path: {
          actionId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['BulkAction'] }>
        401: Refusal
        404: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/bulk-actions/{actionId}/stop': {
    /** Stop it after the batch under way; what was done stays done */
    post: {
      parameters: {
        query?: never
        header?: never
        path: {
          actionId: string
        }
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['BulkAction'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        404: Refusal
        409: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/dead-letters/groups': {
    /** Dead letters by error code and company, the largest groups first */
    get: {
      parameters: {
        query?: {
          company?: string
          since?: string
          until?: string
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['DeadLetterGroups'] }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/dead-letters/count': {
    /** How many match, and how many of them can be replayed */
    get: {
      parameters: {
        query?: {
          company?: string
          /** The gateway's error code, or the provider's */
          code?: string
          /** Of the e-mail */
          status?: 'REJECTED' | 'FAILED' | 'DLQ'
          /** Dead since that time */
          since?: string
          until?: string
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['DeadLetterCount'] }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/dead-letters': {
    /** Dead letters, newest first */
    get: {
      parameters: {
        query?: {
          company?: string
          /** The gateway's error code, or the provider's */
          code?: string
          /** Of the e-mail */
          status?: 'REJECTED' | 'FAILED' | 'DLQ'
          /** Dead since that time */
          since?: string
          until?: string
          cursor?: string
          limit?: number
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        200: Answer<{ 'application/json': components['schemas']['DeadLetterPage'] }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/dead-letters/export': {
    /** All that match, as CSV or as one JSON value per line */
    get: {
      parameters: {
        query?: {
          company?: string
          /** The gateway's error code, or the provider's */
          code?: string
          /** Of the e-mail */
          status?: 'REJECTED' | 'FAILED' | 'DLQ'
          /** Dead since that time */
          since?: string
          until?: string
          format?: 'csv' | 'jsonl'
        }
        header?: never
        path?: never
        cookie?: never
      }
      requestBody?: never
      responses: {
        401: Refusal
        403: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
  '/admin/dead-letters/{outboxId}': {
    /** One dead letter: what is left of the e-mail, and every attempt */
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
        200: Answer<{ 'application/json': components['schemas']['DeadLetter'] }>
        401: Refusal
        404: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          data: (components['schemas']['CompanyStanding'])[]
        } }>
        401: Refusal
        404: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          data: ({
            action: 'WARNED' | 'WARNING_ENDED' | 'PAUSED' | 'RESUMED'
            reason: string
            performedBy: string
            performedAt: string
            metadata: Record<string, unknown>
          })[]
        } }>
        401: Refusal
        404: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          companyId: string
          paused: boolean
          reason: string
          performedBy: string
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        404: Refusal
        409: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          companyId: string
          paused: boolean
          reason: string
          performedBy: string
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        404: Refusal
        409: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }>
        202: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }>
        401: Refusal
        404: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['PersonExport'] }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': components['schemas']['Stats'] }>
        401: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
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
        200: Answer<{ 'application/json': {
          processed: number
          outboxIds: (string)[]
        } }>
        400: Refusal
        401: Refusal
        403: Refusal
        413: Refusal
        415: Refusal
        422: Refusal
        429: Refusal
        503: Refusal
      }
    }
  }
}

type Answer<Content> = { headers: Record<string, string>; content: Content }
type Refusal = Answer<{ 'application/problem+json': components['schemas']['Problem'] }>

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
    BulkAction: {
      actionId: string
      kind: 'replay-dead-letters' | 'purge-dead-letters' | 'import-suppressions'
      /** The filter, as it was when the action was asked for */
      selection: {
        company?: string | null
        code?: string | null
        status?: string | null
        since?: string | null
        until?: string | null
        /** So many e-mails by their ids */
        chosen?: number
        /** So many lines of an imported file */
        lines?: number
      }
      requestedBy: string
      reason: string
      state: 'waiting' | 'running' | 'stopped' | 'done' | 'failed'
      total: number
      done: number
      /** Could not be done */
      failed: number
      /** What became of them, by outcome */
      counts: Record<string, number>
      /** The first refused lines of an imported file */
      problems: ({
        line: number
        problem: string
      })[]
      lastError: string | null
      createdAt: string
      startedAt: string | null
      updatedAt: string
      finishedAt: string | null
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
    DeadLetter: {
      jobId: string
      outboxId: string
      companyId: string
      originalData: Record<string, unknown>
      failedAttempts: number
      lastFailureReason: string
      lastFailureCode?: string
      providerCode?: string
      lastFailureTimestamp: string
      enqueuedAt: string
      movedToDLQAt: string
      ttl: number
      retryHistory?: ({
        attempt: number
        timestamp: string
        error: string
        providerCode?: string | null
      })[]
      companyName: string
      /** null: retention has dropped the e-mail */
      status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED' | null
      payloadPurged: boolean
      replayable: boolean
    }
    DeadLetterCount: {
      all: number
      /** What a replay with this filter takes */
      replayable: number
      /** Dead, and nothing is left to send again */
      payloadPurged: number
      /** May have been sent; left out unless the filter names SEND_OUTCOME_UNKNOWN */
      outcomeUnknown: number
    }
    DeadLetterGroups: {
      data: ({
        code: string | null
        companyId: string
        companyName: string
        entries: number
        firstSeen: string
        lastSeen: string
        /** Of the newest one */
        lastReason: string
        providerCode: string | null
      })[]
    }
    DeadLetterPage: {
      data: (components['schemas']['DeadLetter'])[]
      cursor: string | null
      hasMore: boolean
    }
    EndedSuppressions: {
      data: ({
        action: 'ADDED' | 'REMOVED' | 'EXPIRED'
        /** system, a company, an administrator, or cli:<user> */
        performedBy: string
        performedAt: string
        reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
        justification?: string
        emailHash: string
        /** null: the global list */
        companyId: string | null
        metadata: Record<string, unknown>
      })[]
      cursor: string | null
      hasMore: boolean
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
    LookUpSuppressionInput: {
      email: string
    }
    NewBulkActionInput: {
      kind: 'replay-dead-letters'
      reason: string
      /** These e-mails */
      outboxIds?: (string)[]
      /** All that match and exist now; {} is every dead letter */
      filter?: {
        company?: string
        /** The gateway's error code, or the provider's */
        code?: string
        /** Of the e-mail */
        status?: 'REJECTED' | 'FAILED' | 'DLQ'
        /** Dead since that time */
        since?: string
        until?: string
      }
    } | {
      kind: 'purge-dead-letters'
      reason: string
      /** These e-mails */
      outboxIds?: (string)[]
      /** All that match and exist now; {} is every dead letter */
      filter?: {
        company?: string
        /** The gateway's error code, or the provider's */
        code?: string
        /** Of the e-mail */
        status?: 'REJECTED' | 'FAILED' | 'DLQ'
        /** Dead since that time */
        since?: string
        until?: string
      }
    } | {
      kind: 'import-suppressions'
      reason: string
      /** Columns: reason and email or email_hash; optional: expires_at, company. At most 100000 lines */
      csv: string
      /** For lines without a company; the global list when left out */
      company?: string
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
    SuppressionHistory: {
      emailHash: string
      /** On all lists, the global one first */
      entries: ({
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
      })[]
      /** The last hundred changes on all lists, newest first */
      auditLog: ({
        action: 'ADDED' | 'REMOVED' | 'EXPIRED'
        /** system, a company, an administrator, or cli:<user> */
        performedBy: string
        performedAt: string
        reason: 'MANUAL' | 'HARD_BOUNCE' | 'COMPLAINT'
        justification?: string
        emailHash: string
        /** null: the global list */
        companyId: string | null
        metadata: Record<string, unknown>
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
