// Generated from the OpenAPI document: `npm run admin:types`. Do not edit.
export interface paths {
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['AdminEmailList'] }> }
    }
  }
  '/admin/emails/search': {
    /** Look up whatever was given: an id, an address, an external id or a message id */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['SearchEmailsInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['AdminEmailList'] }> }
    }
  }
  '/admin/emails/{outboxId}': {
    /** One e-mail: what happened, why, its attempts, recipients and webhooks */
    get: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['AdminEmail'] }> }
    }
  }
  '/admin/emails/{outboxId}/resend': {
    /** Send an e-mail that has ended once more, as a new e-mail; all checks are made again */
    post: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['ResendEmailByAdminInput'] } }
      responses: { 202: Answer<{ 'application/json': {
        outboxId: string
        resendOf: string
      } }> }
    }
  }
  '/admin/emails/{outboxId}/cancel': {
    /** Cancel what has not started, and say why */
    post: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['CancelEmailInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        outboxId: string
        status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
        scheduledAt: string | null
      } }> }
    }
  }
  '/admin/emails/{outboxId}/reschedule': {
    /** Move what has not started to another time; a time that has passed means now */
    post: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['RescheduleEmailByAdminInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        outboxId: string
        status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
        scheduledAt: string | null
      } }> }
    }
  }
  '/admin/emails/{outboxId}/content': {
    /** HTML, text and headers as they were accepted, and the list of attachments; not for viewers */
    get: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['AdminEmailContent'] }> }
    }
  }
  '/admin/emails/{outboxId}/preview': {
    /** The HTML as a page that runs and loads nothing; images of other hosts only when asked for */
    get: {
      parameters: {
        query?: {
          images?: 'blocked' | 'remote'
        }
        path: {
          outboxId: string
        }
      }
      responses: { 200: Answer<{ 'text/html': string }> }
    }
  }
  '/admin/emails/{outboxId}/source': {
    /** The message as MIME, as a provider would get it */
    get: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      responses: { 200: Answer<{ 'message/rfc822': string }> }
    }
  }
  '/admin/emails/{outboxId}/attachments/{ordinal}': {
    /** One attachment, as a download */
    get: {
      parameters: {
        path: {
          outboxId: string
          ordinal: number
        }
      }
      responses: { 200: Answer<{ 'application/octet-stream': string }> }
    }
  }
  '/admin/audit': {
    /** Who did what, when and why: in the admin UI, by command line and by API; newest first */
    get: {
      parameters: {
        query?: {
          /** This entry alone, whatever page it is on */
          id?: string
          /** Name of an administrator, `cli:` and a user, or `key` and the id of an API key */
          performedBy?: string
          /** `people`: without what the gateway did by itself, such as suppressing an address that bounced */
          actor?: 'people'
          action?: string
          subjectType?: string
          /** Its id; of a suppression the address or its hash, with or without `sha256:` */
          subjectId?: string
          company?: string
          from?: string
          to?: string
          /** The cursor `older` of a page */
          olderThan?: string
          /** The cursor `newer` of a page */
          newerThan?: string
          limit?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['AuditEntry'])[]
        /** Cursor of the next page */
        older: string | null
        /** Cursor of the page before this one */
        newer: string | null
      } }> }
    }
  }
  '/admin/audit/export': {
    /** The same as a file: CSV, or one JSON object per line */
    get: {
      parameters: {
        query?: {
          /** This entry alone, whatever page it is on */
          id?: string
          /** Name of an administrator, `cli:` and a user, or `key` and the id of an API key */
          performedBy?: string
          /** `people`: without what the gateway did by itself, such as suppressing an address that bounced */
          actor?: 'people'
          action?: string
          subjectType?: string
          /** Its id; of a suppression the address or its hash, with or without `sha256:` */
          subjectId?: string
          company?: string
          from?: string
          to?: string
          format?: 'csv' | 'jsonl'
        }
      }
      responses: { 200: Answer<{ 'text/csv': string }> }
    }
  }
  '/admin/companies': {
    /** Companies, their bounce and complaint rates, who is warned or paused, and whose webhooks are disabled */
    get: {
      parameters: None
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['CompanyStanding'])[]
      } }> }
    }
    /** Create a company and its first API key, which is shown once */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['NewCompanyInput'] } }
      responses: { 201: Answer<{ 'application/json': components['schemas']['CompanyWithKey'] }> }
    }
  }
  '/admin/companies/{companyId}': {
    /** The settings of one company */
    get: {
      parameters: {
        path: {
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Company'] }> }
    }
    /** Change the given settings of a company and no others */
    patch: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['CompanyChangeInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Company'] }> }
    }
  }
  '/admin/companies/{companyId}/audit': {
    /** Who changed the company, its keys, webhooks and templates, when and why; newest first */
    get: {
      parameters: {
        query?: {
          cursor?: number
          limit?: number
        }
        path: {
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['CompanyAudit'])[]
        cursor: number | null
        hasMore: boolean
      } }> }
    }
  }
  '/admin/companies/{companyId}/pause': {
    /** Pause a company: its mail waits */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['CompanyReasonInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        companyId: string
        paused: boolean
        reason: string
        performedBy: string
      } }> }
    }
  }
  '/admin/companies/{companyId}/resume': {
    /** Resume a company: its mail goes on, and its figures begin anew */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['CompanyReasonInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        companyId: string
        paused: boolean
        reason: string
        performedBy: string
      } }> }
    }
  }
  '/admin/companies/{companyId}/activity': {
    /** What became of the e-mails of a company, per hour or day */
    get: {
      parameters: {
        query?: {
          range?: '24h' | '7d' | '30d'
        }
        path: {
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['CompanyActivity'] }> }
    }
  }
  '/admin/fairness': {
    /** Who is served how often, and who waits how long */
    get: {
      parameters: {
        query?: {
          /** Is part of the answer also when it is idle */
          company?: string
          limit?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Fairness'] }> }
    }
  }
  '/admin/companies/{companyId}/keys': {
    /** API keys of a company, newest first, without their secrets */
    get: {
      parameters: {
        path: {
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['ApiKey'])[]
      } }> }
    }
    /** Create an API key; the answer shows it, once */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['NewApiKeyInput'] } }
      responses: { 201: Answer<{ 'application/json': components['schemas']['ApiKeyWithSecret'] }> }
    }
  }
  '/admin/companies/{companyId}/keys/{keyId}/revoke': {
    /** Revoke an API key: every process refuses it within a second */
    post: {
      parameters: {
        path: {
          companyId: string
          keyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['ChangeReasonInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        keyId: string
        revoked: true
      } }> }
    }
  }
  '/admin/companies/{companyId}/sql-access': {
    /** Whether a company has a database role */
    get: {
      parameters: {
        path: {
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SqlAccess'] }> }
    }
    /** Make its database role, or give the one that is there a new password; it is shown once */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['ChangeReasonInput'] } }
      responses: { 201: Answer<{ 'application/json': components['schemas']['GrantedSqlAccess'] }> }
    }
  }
  '/admin/companies/{companyId}/sql-access/revoke': {
    /** Remove its database role and end its sessions */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['ChangeReasonInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['RevokedSqlAccess'] }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Overview'] }> }
    }
  }
  '/admin/live': {
    /** Counts of the queue and e-mails that have just changed; open pages of the admin UI ask every two seconds */
    get: {
      parameters: None
      responses: { 200: Answer<{ 'application/json': components['schemas']['LiveFigures'] }> }
    }
  }
  '/admin/stats': {
    /** The KPIs of the e-mails accepted in a range: delivered, how fast, recovered, failed */
    get: {
      parameters: {
        query?: {
          /** A week ago when absent */
          since?: string
          /** Now when absent */
          until?: string
          /** Id or name; every company when absent */
          company?: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Stats'] }> }
    }
  }
  '/admin/inbox': {
    /** What capture kept, newest first, without the contents */
    get: {
      parameters: {
        query?: {
          /** Part of the subject or of a recipient; upper and lower case are the same */
          search?: string
          /** Has no effect: the list never has the contents */
          content?: 'false'
          cursor?: string
          limit?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['CapturedListed'])[]
        cursor: string | null
        hasMore: boolean
      } }> }
    }
    /** Delete all captured messages */
    delete: {
      parameters: None
      responses: { 200: Answer<{ 'application/json': {
        deleted: number
      } }> }
    }
  }
  '/admin/inbox/{messageId}': {
    /** One captured message, with its links */
    get: {
      parameters: {
        path: {
          messageId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['CapturedMessage'] }> }
    }
    /** Delete one captured message */
    delete: {
      parameters: {
        path: {
          messageId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        deleted: true
        messageId: string
      } }> }
    }
  }
  '/admin/inbox/{messageId}/source': {
    /** The message as a mail server would get it */
    get: {
      parameters: {
        path: {
          messageId: string
        }
      }
      responses: { 200: Answer<{ 'text/plain': string }> }
    }
  }
  '/admin/inbox/{messageId}/preview': {
    /** The HTML for a sandboxed frame: it runs nothing, and loads images only when asked to */
    get: {
      parameters: {
        query?: {
          remote?: 'true' | 'false'
        }
        path: {
          messageId: string
        }
      }
      responses: { 200: Answer<{ 'text/html': string }> }
    }
  }
  '/admin/inbox/{messageId}/attachments/{index}': {
    /** One attachment, as a file */
    get: {
      parameters: {
        path: {
          messageId: string
          index: number
        }
      }
      responses: { 200: Answer<{ 'application/octet-stream': string }> }
    }
  }
  '/admin/ledger': {
    /** The ledger: accepted = ended + waiting + unknown, per company and day, and the e-mails in no place */
    get: {
      parameters: {
        query?: {
          /** The first day (UTC); a week ago when absent */
          since?: string
          /** The last day (UTC); today when absent */
          until?: string
          /** Id or name; every company when absent */
          company?: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Ledger'] }> }
    }
  }
  '/admin/ledger/acknowledge': {
    /** Say why a loss that is known stays: it remains in the list, and is not counted in ledger_imbalance */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['AcknowledgeLedgerInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['LedgerAcknowledged'] }> }
    }
  }
  '/admin/providers': {
    /** The providers: who is parked and why, their rates, and their errors by code */
    get: {
      parameters: {
        query?: {
          /** How far back errors are counted */
          hours?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['ProviderState'])[]
        hours: number
      } }> }
    }
  }
  '/admin/providers/{name}/probe': {
    /** Try a parked provider now: the next e-mail is sent as a probe */
    post: {
      parameters: {
        path: {
          name: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        name: string
        /** Why it was parked */
        reasonCode: string
      } }> }
    }
  }
  '/admin/queue/process': {
    /** Bring scheduled retries forward */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['ProcessQueueByAdminInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        processed: number
        outboxIds: (string)[]
      } }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionPage'] }> }
    }
    /** Put an address on the list by hand */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['AddSuppressionInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        added: boolean
        emailHash: string
        expiresAt: string | null
      } }>; 201: Answer<{ 'application/json': {
        added: boolean
        emailHash: string
        expiresAt: string | null
      } }> }
    }
  }
  '/admin/suppression/search': {
    /** The same, with an address that does not end up in a URL */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['SearchSuppressionsInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionPage'] }> }
    }
  }
  '/admin/suppression/stats': {
    /** How many, how often they stop mail, and how they grow */
    get: {
      parameters: None
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionStats'] }> }
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
        path: {
          emailHash: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionDetails'] }> }
    }
    /** Take it off the list, and say why; complaints stay */
    delete: {
      parameters: {
        query?: {
          /** Needed when several lists have the address */
          company?: string
        }
        path: {
          emailHash: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['RemoveSuppressionByAdminInput'] } }
      responses: { 200: Answer<{ 'application/json': {
        removed: true
        emailHash: string
        removedBy: string
        removedAt: string
      } }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['EndedSuppressions'] }> }
    }
  }
  '/admin/suppression/{emailHash}/history': {
    /** One address on all lists, with every change: also when it is on none any more */
    get: {
      parameters: {
        path: {
          emailHash: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionHistory'] }> }
    }
  }
  '/admin/suppression/look-up': {
    /** The same by an address, which does not end up in a URL; empty lists when it never was suppressed */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['LookUpSuppressionInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['SuppressionHistory'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks': {
    /** Register an endpoint for a company; the answer shows its secret, once */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['NewWebhookByAdminInput'] } }
      responses: { 201: Answer<{ 'application/json': components['schemas']['WebhookWithSecret'] }> }
    }
  }
  '/admin/webhooks': {
    /** Webhook endpoints of every company: how many of their latest deliveries succeeded, and the last failure */
    get: {
      parameters: {
        query?: {
          companyId?: string
          state?: 'enabled' | 'failing' | 'disabled'
          cursor?: string
          limit?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['WebhookOverviewList'] }> }
    }
  }
  '/admin/webhooks/{webhookId}': {
    /** One webhook endpoint */
    get: {
      parameters: {
        path: {
          webhookId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['WebhookOverview'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}': {
    /** Change an endpoint, disable it, or enable it again */
    patch: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['WebhookChangeInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['Webhook'] }> }
    }
    /** Remove an endpoint */
    delete: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        id: string
        deleted: true
      } }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}/rotate-secret': {
    /** Make a new secret; the old one signs as well for 24 hours */
    post: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['WebhookWithSecret'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}/test': {
    /** Send a webhook.test event */
    post: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      responses: { 202: Answer<{ 'application/json': components['schemas']['WebhookDelivery'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}/deliveries': {
    /** Deliveries of the last seven days, newest first */
    get: {
      parameters: {
        query?: {
          status?: 'waiting' | 'delivered' | 'failed'
          cursor?: string
          limit?: number
        }
        path: {
          companyId: string
          id: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['WebhookDeliveryList'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}': {
    /** One delivery with its request and the last answer */
    get: {
      parameters: {
        path: {
          id: string
          deliveryId: string
          companyId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['WebhookExchange'] }> }
    }
  }
  '/admin/companies/{companyId}/webhooks/{id}/deliveries/{deliveryId}/replay': {
    /** Deliver it again, under the same webhook-id */
    post: {
      parameters: {
        path: {
          companyId: string
          id: string
          deliveryId: string
        }
      }
      responses: { 202: Answer<{ 'application/json': components['schemas']['WebhookDelivery'] }> }
    }
  }
  '/admin/templates': {
    /** Templates with what became of their e-mails */
    get: {
      parameters: {
        query?: {
          /** Its own, and the starters that they do not replace */
          companyId?: string
          /** A part of the type */
          text?: string
          cursor?: string
          limit?: number
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['TemplateOverviewList'] }> }
    }
  }
  '/admin/templates/{templateId}': {
    /** One template with its versions, and the content of one */
    get: {
      parameters: {
        query?: {
          /** The newest when absent */
          version?: number
        }
        path: {
          templateId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['TemplateOfCompany'] }> }
    }
  }
  '/admin/companies/{companyId}/templates': {
    /** Create a template of a type and locale; its first version is a draft unless publish is true */
    post: {
      parameters: {
        path: {
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['NewTemplateInput'] } }
      responses: { 201: Answer<{ 'application/json': components['schemas']['TemplateWithVersions'] }> }
    }
  }
  '/admin/companies/{companyId}/templates/{id}': {
    /** Make a new draft from the newest version and these changes, in place of the draft there is */
    patch: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['TemplateChangeInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['TemplateWithVersions'] }> }
    }
    /** Delete a template with all versions; the starters of its type are used again */
    delete: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        id: string
        deleted: true
      } }> }
    }
  }
  '/admin/companies/{companyId}/templates/{id}/publish': {
    /** Put the draft, or an older version, into use */
    post: {
      parameters: {
        path: {
          companyId: string
          id: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['PublishTemplateInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['TemplateWithVersions'] }> }
    }
  }
  '/admin/templates/preview': {
    /** Render what an editor holds, saved or not; nothing is stored or sent */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['PreviewDraftInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['DraftPreview'] }> }
    }
  }
  '/admin/session': {
    /** Sign in to the admin UI: the answer sets the cookie of a session */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['SignInInput'] } }
      responses: { 204: Answer<never> }
    }
    /** Who is signed in */
    get: {
      parameters: None
      responses: { 200: Answer<{ 'application/json': {
        name: string
        role: 'viewer' | 'support' | 'administrator'
        signedInAt: string
        /** It ends earlier when it is not used */
        expiresAt: string
      } }> }
    }
    /** Sign out */
    delete: {
      parameters: None
      responses: { 204: Answer<never> }
    }
  }
  '/admin/session/link': {
    /** Sign in by the token of a link, which works once */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['SignInByLinkInput'] } }
      responses: { 204: Answer<never> }
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
      }
      responses: { 200: Answer<{ 'application/json': {
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
      } }> }
    }
    /** End all sessions of an administrator */
    delete: {
      parameters: {
        query?: {
          /** Your own when absent; another one needs the role administrator */
          administrator?: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        ended: number
      } }> }
    }
  }
  '/admin/sessions/{sessionId}': {
    /** End a session; one of another administrator needs the role administrator */
    delete: {
      parameters: {
        path: {
          sessionId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': {
        ended: number
      } }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['DeadLetterGroups'] }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['DeadLetterCount'] }> }
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
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['DeadLetterPage'] }> }
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
      }
      responses: {  }
    }
  }
  '/admin/dead-letters/{outboxId}': {
    /** One dead letter: what is left of the e-mail, and every attempt */
    get: {
      parameters: {
        path: {
          outboxId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['DeadLetter'] }> }
    }
  }
  '/admin/bulk-actions': {
    /** Replay or purge many dead letters, or import suppressions: carried out by a worker, in batches */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['NewBulkActionInput'] } }
      responses: { 202: Answer<{ 'application/json': components['schemas']['BulkAction'] }> }
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
      }
      responses: { 200: Answer<{ 'application/json': {
        data: (components['schemas']['BulkAction'])[]
      } }> }
    }
  }
  '/admin/bulk-actions/{actionId}': {
    /** One bulk action and its progress */
    get: {
      parameters: {
        path: {
          actionId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['BulkAction'] }> }
    }
  }
  '/admin/bulk-actions/{actionId}/stop': {
    /** Stop it after the batch under way; what was done stays done */
    post: {
      parameters: {
        path: {
          actionId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['BulkAction'] }> }
    }
  }
  '/admin/companies/{companyId}/templates/{id}/test': {
    /** Send a version, also a draft, to one address, as the company; its subject begins with [Test] */
    post: {
      parameters: {
        path: {
          id: string
          companyId: string
        }
      }
      requestBody: { content: { 'application/json': components['schemas']['TestTemplateInput'] } }
      responses: { 202: Answer<{ 'application/json': components['schemas']['Accepted'] }> }
    }
  }
  '/admin/people/erase': {
    /** Erase a person: every e-mail and record of this address, document or external id */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['PersonInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }>; 202: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }> }
    }
  }
  '/admin/people/erasures/{receiptId}': {
    /** The receipt of an erasure */
    get: {
      parameters: {
        path: {
          receiptId: string
        }
      }
      responses: { 200: Answer<{ 'application/json': components['schemas']['ErasureReceipt'] }> }
    }
  }
  '/admin/people/export': {
    /** Everything that is kept about a person, as one JSON document */
    post: {
      parameters: None
      requestBody: { content: { 'application/json': components['schemas']['PersonInput'] } }
      responses: { 200: Answer<{ 'application/json': components['schemas']['PersonExport'] }> }
    }
  }
}

type None = Record<string, never>
type Answer<Content> = { headers: Record<string, string>; content: Content }

export interface components {
  schemas: {
    Accepted: {
      outboxId: string
      jobId: string
      requestId: string
      /** Stored, and the first event of the e-mail. From here on GET /v1/email/{outboxId} (the Location header) shows its status: PENDING at first, also until scheduledAt */
      status: 'QUEUED'
      queuedAt: string
      /** Hashes of the cc and bcc addresses that were left out */
      suppressed?: (string)[]
    }
    AcknowledgeLedgerInput: {
      /** Of this day (UTC) only */
      day?: string
      reason: string
    }
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
      /** Recipients that bounced or were refused, whatever the status, which is that of its `to` */
      bounced: number
      explanation: {
        outboxId: string
        status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
        /** The current state and its reason, in one sentence */
        summary: string
        /** What happens next, in one sentence */
        next: string | null
        /** The same for programs */
        nextStep: 'resume' | 'probe' | 'due' | 'turn' | 'no-worker' | 'soon' | 'answer' | 'report' | 'decide' | 'hold' | 'turn-redis' | 'lost' | 'returned' | 'no-report' | 'resolve' | 'unless-resolved' | 'unless-reported' | 'resend' | 'resend-unsuppressed' | 'replay' | 'replay-expired' | 'purged' | null
        nextAt: string | null
        /** E-mails of this company that go first */
        aheadInCompany: number | null
        /** Companies that have mail ready */
        companiesSharing: number | null
        /** Why its company is paused */
        pauseReason: string | null
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
        state: {
          code: 'scheduled'
          at: string
        } | {
          code: 'paused'
          reason: string | null
        } | {
          code: 'parked'
          providers: ({
            provider: string
            since: string
            code: string
            reason: string
            probeAt: string
          })[]
        } | {
          code: 'claimed'
          worker: string
        } | {
          code: 'claim-lost'
          worker: string
          because: 'no-worker' | 'lease-expired' | 'silent'
        } | {
          code: 'turn'
          /** 1001: more than 1000 */
          ahead: number
          companies: number
        } | {
          code: 'attempt-lost'
          because: 'no-worker' | 'lease-expired' | 'silent'
        } | {
          code: 'unknown'
          provider: string
          reason: string
          since: string
        } | {
          code: 'sent' | 'delivered' | 'complained'
          /** Recipients that bounced, where the status does not say it */
          othersBounced: {
            bounced: number
            of: number
          } | null
          sentAgain: boolean
        } | {
          code: 'on-queue' | 'becoming-ready' | 'attempt' | 'unknown-cause' | 'bounced' | 'cancelled' | 'expired' | 'suppressed' | 'rejected' | 'failed' | 'exhausted'
        }
        /** Set while it waits for another attempt */
        retry: {
          attempt: number
          /** null: repeated until it expires */
          of: number | null
          /** What became of the attempt before; only a failed one counts */
          because: 'failed' | 'throttled' | 'unconnected' | null
        } | null
      }
      events: ({
        type: 'QUEUED' | 'RECEIVED' | 'VALIDATED' | 'VALIDATION_FAILED' | 'SENT_ATTEMPT' | 'SENT' | 'FAILED' | 'RETRY_SCHEDULED' | 'DELIVERED' | 'BOUNCE' | 'COMPLAINT' | 'REJECTED' | 'DLQ_MOVED' | 'EXPIRED' | 'CANCELLED' | 'REPLAYED' | 'UNKNOWN' | 'RESOLVED'
        createdAt: string
        metadata: Record<string, unknown>
        /** Whom a provider reported on: the place in `recipients`; null: the e-mail */
        recipient: number | null
      })[]
      attemptList: ({
        /** Of the sends: a repeated call has the number of the send that it repeats */
        number: number
        /** The same attempt under the same key: it asked what became of a send whose outcome was unknown */
        asksAgain: boolean
        provider: string
        attemptId: string | null
        startedAt: string
        endedAt: string | null
        durationMs: number | null
        end: 'sent' | 'retry' | 'throttled' | 'unconnected' | 'parked' | 'rejected' | 'failed' | 'unknown' | 'uncalled' | 'running'
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
        replay: boolean
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
      /** Recipients that bounced or were refused, whatever the status, which is that of its `to` */
      bounced: number
    }
    ApiKey: {
      keyId: string
      mode: 'live' | 'test'
      scopes: ('send' | 'read' | 'manage')[]
      name: string | null
      createdAt: string
      lastUsedAt: string | null
      revokedAt: string | null
    }
    ApiKeyWithSecret: {
      keyId: string
      /** Shown now and never again */
      apiKey: string
    }
    AuditEntry: {
      id: string
      performedAt: string
      performedBy: string
      action: string
      subjectType: string
      subjectId: string
      companyId: string | null
      companyName: string | null
      before: Record<string, unknown> | null
      after: Record<string, unknown> | null
      reason: string | null
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
        rule?: 'CSV_UNKNOWN_COLUMN' | 'CSV_COLUMN_TWICE' | 'CSV_COLUMN_MISSING' | 'CSV_TOO_MANY_LINES' | 'CSV_LINE_TOO_LONG' | 'CSV_FIELDS' | 'CSV_QUOTE' | 'CSV_ADDRESS' | 'CSV_HASH' | 'CSV_REASON' | 'CSV_EXPIRY' | 'CSV_COMPANY'
      })[]
      lastError: string | null
      createdAt: string
      startedAt: string | null
      updatedAt: string
      finishedAt: string | null
    }
    CancelEmailInput: {
      reason: string
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
    ChangeReasonInput: {
      reason?: string
    }
    Company: {
      companyId: string
      name: string
      weight: number
      ratePerSecond: number | null
      retryPolicy: 'steps' | 'exponential' | 'patient' | 'persistent' | null
      fromDomains: (string)[]
      defaultFrom: string | null
      locale: string
      isDefault: boolean
      pausedAt: string | null
      pauseReason: string | null
      pausedBy: string | null
      createdAt: string
    }
    CompanyActivity: {
      /** What one entry of data stands for; days are those of UTC */
      step: 'hour' | 'day'
      /** Later events are not counted yet */
      countedUntil: string
      data: ({
        /** Its beginning */
        at: string
        /** Recipients that were asked for, also suppressed ones */
        requests: number
        /** Recipients */
        suppressed: number
        /** E-mails */
        accepted: number
        /** E-mails */
        sent: number
        /** Recipients: an e-mail may have several */
        delivered: number
        /** Recipients */
        bounced: number
        /** Recipients */
        complained: number
        /** E-mails */
        rejected: number
        /** E-mails */
        failed: number
        /** E-mails */
        expired: number
      })[]
    }
    CompanyAudit: {
      id: number
      action: string
      subjectType: string
      subjectId: string
      reason: string | null
      performedBy: string
      performedAt: string
      before: Record<string, unknown> | null
      after: Record<string, unknown> | null
    }
    CompanyChangeInput: {
      /** Its share of the sending capacity beside other companies */
      weight?: number
      /** null: no limit of its own */
      ratePerSecond?: number | null
      /** null: the setting RETRY_POLICY */
      retryPolicy?: 'steps' | 'exponential' | 'patient' | 'persistent' | null
      /** The domains that it may use in From */
      fromDomains?: (string)[]
      /** The sender of its e-mails that name none, of one of its domains; null: the setting EMAIL_FROM */
      defaultFrom?: string | null
      /** Of its templates, when a request names none */
      locale?: string
      /** E-mails that come by SQL without a company are its own */
      isDefault?: true
      /** Why; for the audit log */
      reason?: string
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
      /** E-mails of the last 24 hours, from the beginning of an hour */
      accepted: number
      /** E-mails that could be sent now; counted up to 1000 */
      waiting: number
      oldestWaitingSeconds: number | null
      /** E-mails that come by SQL without a company are its own */
      isDefault: boolean
      weight: number
      ratePerSecond: number | null
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
    CompanyTurn: {
      companyId: string
      name: string
      weight: number
      ratePerSecond: number | null
      paused: boolean
      /** E-mails that could be sent now; counted up to 1000 */
      ready: number
      /** How long its oldest ready e-mail has been due */
      oldestWaitingSeconds: number | null
      /** In the last `windowSeconds` */
      attempts: number
      /** Of all attempts in that time, 0 to 1 */
      share: number
      /** What its weight would give it among those that were served or wait, 0 to 1; 0 when paused */
      fairShare: number
    }
    CompanyWithKey: {
      company: components['schemas']['Company']
      keyId: string
      /** Its first API key: shown now and never again */
      apiKey: string
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
    DraftPreview: {
      /** null: it cannot be rendered; the problems say why */
      rendered: {
        subject: string
        html: string | null
        text: string | null
      } | null
      /** The variables that it uses */
      variables: (string)[]
      problems: ({
        /** Such as `attachments[0].filename` */
        path: string
        code: string
        message: string
        /** The most that is allowed; with TOO_SMALL, the least */
        limit?: number
        /** What the limit counts; without it, the value itself */
        unit?: 'characters' | 'items' | 'bytes' | 'days'
        /** Of a template, its HTML, or a CSV: which of their rules was broken */
        rule?: 'UNKNOWN_TAG' | 'TAG_WITHOUT_BEGINNING' | 'UNKNOWN_FILTER' | 'NOT_CLOSED' | 'INVALID_TAG' | 'INVALID_EXPRESSION' | 'NOT_A_TEXT' | 'LISTS_COMPARED' | 'SEARCHED_TOO_LONG' | 'TOO_SLOW' | 'TOO_MUCH_WORK' | 'EMPTY' | 'CONTENT_MISSING' | 'RENDERED_EMPTY' | 'INVALID_LINE' | 'TOO_MANY_TAGS' | 'TAG_TOO_LONG' | 'TAGS_TOO_LONG' | 'NESTED_TOO_DEEP' | 'NUMBER_TOO_LARGE' | 'HTML_SCRIPT' | 'HTML_EVENT_HANDLER' | 'HTML_URL_SCHEME' | 'HTML_CHARSET' | 'HTML_FORBIDDEN_ELEMENT' | 'HTML_FORBIDDEN_ATTRIBUTE' | 'HTML_META_REFRESH' | 'HTML_CSS' | 'HTML_HIDDEN_MARKUP' | 'HTML_TOO_DEEP' | 'HTML_TOO_COMPLEX' | 'HTML_NUL' | 'CSV_UNKNOWN_COLUMN' | 'CSV_COLUMN_TWICE' | 'CSV_COLUMN_MISSING' | 'CSV_TOO_MANY_LINES' | 'CSV_LINE_TOO_LONG' | 'CSV_FIELDS' | 'CSV_QUOTE' | 'CSV_ADDRESS' | 'CSV_HASH' | 'CSV_REASON' | 'CSV_EXPIRY' | 'CSV_COMPANY'
        /** What it is about, such as the tag, the filter or the variable */
        name?: string
        /** In the template, from 1; also `column` */
        line?: number
        column?: number
      })[]
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
    Fairness: {
      at: string
      windowSeconds: number
      /** Of all companies in that time */
      attempts: number
      /** The company whose turn was last */
      lastServed: string | null
      /** How many companies were served or wait */
      competing: number
      /** Who waits longest first, then who was served most */
      data: (components['schemas']['CompanyTurn'])[]
    }
    GrantedSqlAccess: {
      role: string
      /** Shown now and never again */
      password: string
      /** The connection with the password */
      url: string
      /** false: the gateway may not create roles; an administrator of the server runs `statements` */
      created: boolean
      statements: (string)[]
      host: string
      port: number
      database: string
    }
    Ledger: {
      since: string
      until: string
      /** The oldest count among today and the days with open e-mails; null: there are none */
      countedAt: string | null
      /** Days that were never counted */
      uncountedDays: number
      /** No imbalance but what is acknowledged */
      balanced: boolean
      acknowledgedEmails: number
      /** The newest day first; at most 5 000, those with an imbalance before others */
      days: ({
        day: string
        companyId: string
        companyName: string | null
        accepted: number
        /** Sent, or ended in another way */
        ended: number
        waiting: number
        unknown: number
        /** accepted - ended - waiting - unknown: e-mails in no place; 0 is right */
        imbalance: number
        /** Ids of the e-mails in no place, at most 100; those whose events are gone, too, are not among them */
        missing: (string)[]
        imbalancedSince: string | null
        /** How many of the imbalance are known, who has said so last, and why they stay; null: none */
        acknowledged: {
          emails: number
          at: string
          by: string
          reason: string
        } | null
      })[]
    }
    LedgerAcknowledged: {
      acknowledged: ({
        day: string
        companyId: string
        emails: number
        /** Ids of the e-mails in no place, at most 100; those whose events are gone, too, are not among them */
        missing: (string)[]
      })[]
    }
    LiveFigures: {
      queue: components['schemas']['QueueCounts']
      /** E-mails with an event in the last ten seconds, newest first, 100 at most */
      emails: ({
        outboxId: string
        companyId: string
        status: 'PENDING' | 'PROCESSING' | 'RETRY_SCHEDULED' | 'UNKNOWN' | 'SENT' | 'DELIVERED' | 'BOUNCED' | 'COMPLAINED' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED' | 'CANCELLED'
      })[]
    }
    LookUpSuppressionInput: {
      email: string
    }
    NewApiKeyInput: {
      name?: string | null
      /** test: its e-mails are never sent to a provider */
      mode?: 'live' | 'test'
      scopes?: ('send' | 'read' | 'manage')[]
      reason?: string
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
    NewCompanyInput: {
      name: string
      /** Its share of the sending capacity beside other companies */
      weight?: number
      /** null: no limit of its own */
      ratePerSecond?: number | null
      /** null: the setting RETRY_POLICY */
      retryPolicy?: 'steps' | 'exponential' | 'patient' | 'persistent' | null
      /** The domains that it may use in From */
      fromDomains?: (string)[]
      /** The sender of its e-mails that name none, of one of its domains; null: the setting EMAIL_FROM */
      defaultFrom?: string | null
      /** Of its templates, when a request names none */
      locale?: string
      /** Why; for the audit log */
      reason?: string
    }
    NewTemplateInput: {
      type: string
      /** The company's when absent */
      locale?: string
      subject: string
      html?: string | null
      text?: string | null
      /** Put it into use at once */
      publish?: boolean
    }
    NewWebhookByAdminInput: {
      /** https, on the public internet */
      url: string
      description?: string | null
      eventTypes?: ('email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters')[]
      /** Gets events of test e-mails only */
      test?: boolean
    }
    Overview: {
      range: {
        /** The begin of the first bucket, so that the whole range is covered */
        from: string
        to: string
        bucketSeconds: number
      }
      /** The series and totals hold everything up to this moment */
      countedUntil: string
      /** Events of live e-mails, oldest bucket first */
      series: ({
        at: string
        /** E-mails */
        accepted: number
        /** E-mails */
        sent: number
        /** Recipients: an e-mail may have several */
        delivered: number
        /** Recipients */
        bounced: number
        /** Recipients */
        complained: number
        /** E-mails that failed, were rejected or expired */
        failed: number
      })[]
      totals: {
        /** E-mails */
        accepted: number
        /** E-mails */
        sent: number
        /** Recipients: an e-mail may have several */
        delivered: number
        /** Recipients */
        bounced: number
        /** Recipients */
        complained: number
        /** E-mails that failed, were rejected or expired */
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
        kind: 'ledger-imbalance' | 'dead-letters' | 'provider-parked' | 'no-worker' | 'waiting-long' | 'unknown-sends' | 'company-paused' | 'company-warned' | 'webhooks-disabled'
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
    PreviewDraftInput: {
      subject: string
      html?: string | null
      text?: string | null
      variables?: Record<string, unknown>
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
        /** Such as `attachments[0].filename` */
        path: string
        code: string
        message: string
        /** The most that is allowed; with TOO_SMALL, the least */
        limit?: number
        /** What the limit counts; without it, the value itself */
        unit?: 'characters' | 'items' | 'bytes' | 'days'
        /** Of a template, its HTML, or a CSV: which of their rules was broken */
        rule?: 'UNKNOWN_TAG' | 'TAG_WITHOUT_BEGINNING' | 'UNKNOWN_FILTER' | 'NOT_CLOSED' | 'INVALID_TAG' | 'INVALID_EXPRESSION' | 'NOT_A_TEXT' | 'LISTS_COMPARED' | 'SEARCHED_TOO_LONG' | 'TOO_SLOW' | 'TOO_MUCH_WORK' | 'EMPTY' | 'CONTENT_MISSING' | 'RENDERED_EMPTY' | 'INVALID_LINE' | 'TOO_MANY_TAGS' | 'TAG_TOO_LONG' | 'TAGS_TOO_LONG' | 'NESTED_TOO_DEEP' | 'NUMBER_TOO_LARGE' | 'HTML_SCRIPT' | 'HTML_EVENT_HANDLER' | 'HTML_URL_SCHEME' | 'HTML_CHARSET' | 'HTML_FORBIDDEN_ELEMENT' | 'HTML_FORBIDDEN_ATTRIBUTE' | 'HTML_META_REFRESH' | 'HTML_CSS' | 'HTML_HIDDEN_MARKUP' | 'HTML_TOO_DEEP' | 'HTML_TOO_COMPLEX' | 'HTML_NUL' | 'CSV_UNKNOWN_COLUMN' | 'CSV_COLUMN_TWICE' | 'CSV_COLUMN_MISSING' | 'CSV_TOO_MANY_LINES' | 'CSV_LINE_TOO_LONG' | 'CSV_FIELDS' | 'CSV_QUOTE' | 'CSV_ADDRESS' | 'CSV_HASH' | 'CSV_REASON' | 'CSV_EXPIRY' | 'CSV_COMPANY'
        /** What it is about, such as the tag, the filter or the variable */
        name?: string
        /** In the template, from 1; also `column` */
        line?: number
        column?: number
      })[]
      /** Hash of the suppressed address */
      recipient?: string
    }
    ProcessQueueByAdminInput: {
      limit?: number
      /** Without it: of every company */
      companyId?: string
    }
    ProviderState: {
      name: string
      /** It is in EMAIL_PROVIDER now */
      configured: boolean
      state: 'healthy' | 'slowed' | 'parked'
      parkedAt: string | null
      reasonCode: string | null
      reason: string | null
      failedProbes: number
      /** From then on, the next e-mail is sent as a probe */
      nextProbeAt: string | null
      /** E-mails, over the last minute */
      sentPerSecond: number
      /** Recipients, now: the quota, or less while it throttles; null: no limit */
      allowedPerSecond: number | null
      /** Recipients, by the setting or the account; null: no limit */
      quotaPerSecond: number | null
      slowedAt: string | null
      inFlight: number
      lastSentAt: string | null
      /** Most first */
      errors: ({
        code: string
        count: number
        lastAt: string
      })[]
    }
    PublishTemplateInput: {
      /** An older one returns to it; the draft when absent */
      version?: number
    }
    QueueCounts: {
      ready: number
      /** Those of the ready ones whose company is paused */
      held: number
      scheduled: number
      unknown: number
      /** Of the ready e-mails that are not held, since it was due; null: there is none */
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
    ResendEmailByAdminInput: {
      reason?: string
    }
    RevokedSqlAccess: {
      role: string
      /** false: it has no access any more, and stays, because it owns something or may not be dropped */
      removed: boolean
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
    SqlAccess: {
      role: string
      /** null: the company has no database role */
      grantedAt: string | null
      /** Connections that it has open now */
      sessions: number
      host: string
      port: number
      database: string
    }
    Stats: {
      /** The beginning of the first hour */
      since: string
      until: string
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
    TemplateChangeInput: {
      subject?: string
      /** null removes it */
      html?: string | null
      /** null removes it */
      text?: string | null
    }
    TemplateOfCompany: {
      id: string
      type: string
      locale: string
      /** Comes with the gateway; your own template of the same type replaces it */
      starter: boolean
      /** The number of the version in use */
      published: number | null
      /** The number of the version that has not been published */
      draft: number | null
      createdAt: string
      updatedAt: string
      /** The one that was asked for, or the newest */
      version: components['schemas']['TemplateVersion']
      /** Newest first */
      versions: (components['schemas']['TemplateVersionSummary'])[]
      /** null: a starter */
      companyId: string | null
      companyName: string | null
    }
    TemplateOverview: {
      id: string
      type: string
      locale: string
      /** Comes with the gateway; your own template of the same type replaces it */
      starter: boolean
      /** The number of the version in use */
      published: number | null
      /** The number of the version that has not been published */
      draft: number | null
      createdAt: string
      updatedAt: string
      /** null: a starter */
      companyId: string | null
      companyName: string | null
      /** Live e-mails of the type in the last 30 days; null: a starter, in the list of every company */
      figures: {
        accepted: number
        sent: number
        failed: number
        retries: number
      } | null
    }
    TemplateOverviewList: {
      data: (components['schemas']['TemplateOverview'])[]
      cursor: string | null
      hasMore: boolean
    }
    TemplateVersion: {
      number: number
      status: 'draft' | 'published' | 'replaced'
      createdAt: string
      createdBy: string
      publishedAt: string | null
      subject: string
      html: string | null
      text: string | null
      /** The variables that it uses */
      variables: (string)[]
    }
    TemplateVersionSummary: {
      number: number
      status: 'draft' | 'published' | 'replaced'
      createdAt: string
      createdBy: string
      publishedAt: string | null
    }
    TemplateWithVersions: {
      id: string
      type: string
      locale: string
      /** Comes with the gateway; your own template of the same type replaces it */
      starter: boolean
      /** The number of the version in use */
      published: number | null
      /** The number of the version that has not been published */
      draft: number | null
      createdAt: string
      updatedAt: string
      /** The one that was asked for, or the newest */
      version: components['schemas']['TemplateVersion']
      /** Newest first */
      versions: (components['schemas']['TemplateVersionSummary'])[]
    }
    TestTemplateInput: {
      /** The newest when absent */
      version?: number
      variables?: Record<string, unknown>
      to: string
      from?: string
    }
    Webhook: {
      id: string
      /** resend: made by the Resend-compatible API, and gets bodies of that form */
      format: 'native' | 'resend'
      /** Created with a test key: it receives events of test e-mails only */
      test: boolean
      url: string
      description: string | null
      eventTypes: ('email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters')[]
      enabled: boolean
      disabledAt: string | null
      disabledReason: 'MANUAL' | 'GONE' | 'FAILING' | null
      /** The first failure since the last successful delivery */
      failingSince: string | null
      /** Until then the secret before the last rotation signs as well */
      previousSecretUntil: string | null
      createdAt: string
      updatedAt: string
    }
    WebhookChangeInput: {
      /** https, on the public internet */
      url?: string
      description?: string | null
      eventTypes?: ('email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters')[]
      /** true also enables an endpoint again that was disabled for its failures */
      enabled?: boolean
    }
    WebhookDelivery: {
      /** The header webhook-id is msg_ followed by this id */
      id: string
      type: 'email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters' | 'webhook.test' | 'webhook.disabled'
      outboxId: string | null
      sequence: number
      status: 'waiting' | 'delivered' | 'failed'
      attempts: number
      createdAt: string
      lastAttemptAt: string | null
      /** Set while it waits for a retry */
      nextAttemptAt: string | null
      lastStatus: number | null
      lastError: string | null
      /** The first 1024 bytes, masked */
      lastAnswer: string | null
      lastDurationMs: number | null
    }
    WebhookDeliveryList: {
      data: (components['schemas']['WebhookDelivery'])[]
      cursor: string | null
      hasMore: boolean
    }
    WebhookExchange: {
      /** The header webhook-id is msg_ followed by this id */
      id: string
      type: 'email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters' | 'webhook.test' | 'webhook.disabled'
      outboxId: string | null
      sequence: number
      status: 'waiting' | 'delivered' | 'failed'
      attempts: number
      createdAt: string
      lastAttemptAt: string | null
      /** Set while it waits for a retry */
      nextAttemptAt: string | null
      lastStatus: number | null
      lastError: string | null
      /** The first 1024 bytes, masked */
      lastAnswer: string | null
      lastDurationMs: number | null
      request: {
        url: string
        /** The header webhook-id */
        webhookId: string
        /** null: retention has deleted the e-mail that it is about */
        body: string | null
      }
    }
    WebhookOverview: {
      id: string
      /** resend: made by the Resend-compatible API, and gets bodies of that form */
      format: 'native' | 'resend'
      /** Created with a test key: it receives events of test e-mails only */
      test: boolean
      url: string
      description: string | null
      eventTypes: ('email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters')[]
      enabled: boolean
      disabledAt: string | null
      disabledReason: 'MANUAL' | 'GONE' | 'FAILING' | null
      /** The first failure since the last successful delivery */
      failingSince: string | null
      /** Until then the secret before the last rotation signs as well */
      previousSecretUntil: string | null
      createdAt: string
      updatedAt: string
      companyId: string
      companyName: string
      /** Deliveries that are ready, or due for another attempt later; counted up to 1000 */
      waiting: number
      /** Of its latest 100 deliveries */
      recent: {
        delivered: number
        failed: number
        /** Every attempt so far failed, and another one follows */
        retrying: number
        lastDeliveredAt: string | null
        lastFailure: {
          at: string
          status: number | null
          error: string | null
        } | null
      }
    }
    WebhookOverviewList: {
      /** Of all companies */
      counts: {
        enabled: number
        failing: number
        disabled: number
      }
      data: (components['schemas']['WebhookOverview'])[]
      cursor: string | null
      hasMore: boolean
    }
    WebhookWithSecret: {
      id: string
      /** resend: made by the Resend-compatible API, and gets bodies of that form */
      format: 'native' | 'resend'
      /** Created with a test key: it receives events of test e-mails only */
      test: boolean
      url: string
      description: string | null
      eventTypes: ('email.sent' | 'email.failed' | 'email.delivered' | 'email.bounced' | 'email.complained' | 'email.expired' | 'email.suppressed' | 'company.warned' | 'company.paused' | 'company.dead_letters')[]
      enabled: boolean
      disabledAt: string | null
      disabledReason: 'MANUAL' | 'GONE' | 'FAILING' | null
      /** The first failure since the last successful delivery */
      failingSince: string | null
      /** Until then the secret before the last rotation signs as well */
      previousSecretUntil: string | null
      createdAt: string
      updatedAt: string
      /** whsec_…: shown now and never again */
      secret: string
    }
  }
}
