import { z } from 'zod'
import { EMAIL_EVENT_TYPES, EMAIL_STATUSES } from './states.ts'

const instant = z.iso.datetime()

export const acceptedSchema = z
  .object({
    outboxId: z.uuid(),
    jobId: z.uuid(),
    requestId: z.string(),
    status: z
      .literal('QUEUED')
      .describe(
        'Stored, and the first event of the e-mail. From here on GET /v1/email/{outboxId} (the Location header) shows its status: PENDING at first, also until scheduledAt',
      ),
    queuedAt: instant,
    suppressed: z.array(z.string()).optional().describe('Hashes of the cc and bcc addresses that were left out'),
  })
  .meta({ id: 'Accepted' })

const batchErrorSchema = z.object({ index: z.int(), code: z.string(), message: z.string() }).meta({ id: 'BatchError' })

export const batchAcceptedSchema = z
  .object({ data: z.array(acceptedSchema), errors: z.array(batchErrorSchema).optional() })
  .meta({ id: 'BatchAccepted' })

const lastErrorSchema = z.object({
  code: z.string().describe("The gateway's own code"),
  providerCode: z.string().nullable().describe("The provider's own code, if it gave one"),
  category: z.string().nullable(),
  message: z.string(),
})

/** An e-mail in a list. */
export const emailSummarySchema = z
  .object({
    outboxId: z.uuid(),
    companyId: z.uuid(),
    requestId: z.string(),
    externalId: z.string().nullable(),
    status: z.enum(EMAIL_STATUSES).describe('PENDING after the 202 (event QUEUED), until its first attempt begins'),
    from: z.string().nullable().describe('null: it came by SQL, and gets its sender when it is sent'),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    bcc: z.array(z.string()),
    subject: z.string().nullable(),
    templateType: z.string().nullable(),
    tags: z.array(z.string()),
    attempts: z.int(),
    maxAttempts: z.int(),
    provider: z.string().nullable(),
    messageId: z.string().nullable(),
    lastError: lastErrorSchema.nullable(),
    createdAt: instant,
    scheduledAt: instant.nullable(),
    nextAttemptAt: instant.nullable(),
    sentAt: instant.nullable(),
    deliveredAt: instant.nullable(),
    failedAt: instant.nullable(),
    expiresAt: instant,
    durationMs: z.int().nullable(),
    resendOf: z.uuid().nullable().describe('The e-mail that this one sends again'),
  })
  .meta({ id: 'EmailSummary' })

export const emailEventSchema = z
  .object({ type: z.enum(EMAIL_EVENT_TYPES), createdAt: instant, metadata: z.record(z.string(), z.unknown()) })
  .meta({ id: 'EmailEvent' })

/** An e-mail with its history. */
export const emailSchema = emailSummarySchema
  .extend({
    resentAs: z.array(z.uuid()).describe('The e-mails that sent this one again'),
    events: z.array(emailEventSchema),
  })
  .meta({ id: 'Email' })

export const emailListSchema = z
  .object({ data: z.array(emailSummarySchema), cursor: z.string().nullable(), hasMore: z.boolean() })
  .meta({ id: 'EmailList' })

export type EmailSummary = z.infer<typeof emailSummarySchema>
export type EmailEventView = z.infer<typeof emailEventSchema>
