import { z } from 'zod'
import { type EmailEventView, emailEventSchema, emailSummarySchema } from '../outbox/email-view.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { SUPPRESSION_REASONS } from '../suppression/rules.ts'
import { explanationInCodesSchema } from './explain.ts'

const ENDS = [
  'sent',
  'retry',
  'throttled',
  'unconnected',
  'parked',
  'rejected',
  'failed',
  'unknown',
  'uncalled',
  'running',
] as const
type AttemptEnd = (typeof ENDS)[number]

/** One call of a provider, and what it answered. */
export const attemptSchema = z.object({
  number: z.int().describe('Of the sends: a repeated call has the number of the send that it repeats'),
  asksAgain: z
    .boolean()
    .describe('The same attempt under the same key: it asked what became of a send whose outcome was unknown'),
  provider: z.string(),
  attemptId: z.string().nullable(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  durationMs: z.number().nullable(),
  end: z.enum(ENDS),
  code: z.string().nullable().describe("The gateway's own code"),
  providerCode: z.string().nullable().describe("The provider's own code"),
  message: z.string().nullable().describe("The provider's answer, or the message id"),
  retryInMs: z.number().nullable(),
})
export type AttemptView = z.output<typeof attemptSchema>

const END_EVENTS = ['SENT', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'UNKNOWN']

/** The attempts in the log of an e-mail: each begins with SENT_ATTEMPT and ends with the next event that says how. */
export function attemptsOf(events: readonly EmailEventView[]): AttemptView[] {
  /** Numbers of the sends by their attempt id, which only a repeated call has in common with an earlier one. */
  const numbers = new Map<string, number>()
  let sends = 0
  return events.flatMap((event, index) => {
    if (event.type !== 'SENT_ATTEMPT') return []
    const rest = events.slice(index + 1)
    const next = rest.findIndex(one => one.type === 'SENT_ATTEMPT')
    const attemptId = textOf(event.metadata.attemptId)
    const asked = attemptId === null ? undefined : numbers.get(attemptId)
    const number = asked ?? ++sends
    if (attemptId !== null) numbers.set(attemptId, number)
    return [{ number, asksAgain: asked !== undefined, ...toAttempt(event, next === -1 ? rest : rest.slice(0, next)) }]
  })
}

function toAttempt(start: EmailEventView, after: readonly EmailEventView[]): Omit<AttemptView, 'number' | 'asksAgain'> {
  const end = after.find(one => END_EVENTS.includes(one.type))
  const uncalled = after.some(one => one.type === 'RESOLVED' && one.metadata.by === 'not-called')
  const facts = end?.metadata ?? {}
  return {
    provider: textOf(start.metadata.provider) ?? '',
    attemptId: textOf(start.metadata.attemptId),
    startedAt: start.createdAt,
    endedAt: end?.createdAt ?? null,
    durationMs: numberOf(facts.durationMs),
    end: uncalled ? 'uncalled' : endOf(end),
    code: textOf(facts.errorCode),
    providerCode: textOf(facts.providerCode),
    message: textOf(facts.errorMessage) ?? textOf(facts.messageId) ?? textOf(facts.reason),
    retryInMs: numberOf(facts.backoffDelay),
  }
}

function endOf(end: EmailEventView | undefined): AttemptEnd {
  switch (end?.type) {
    case undefined:
      return 'running'
    case 'SENT':
      return 'sent'
    case 'REJECTED':
      return 'rejected'
    case 'UNKNOWN':
      return 'unknown'
    case 'RETRY_SCHEDULED':
      return (['throttled', 'unconnected', 'parked'] as const).find(name => end.metadata[name] === true) ?? 'retry'
    default:
      return 'failed'
  }
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null)
const numberOf = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : null)

const instant = z.iso.datetime()

const adminEmailSummarySchema = emailSummarySchema
  .extend({
    companyName: z.string(),
    test: z.boolean().describe('Of a test key: it never left the gateway'),
    bounced: z
      .int()
      .describe('Recipients that bounced or were refused, whatever the status, which is that of its `to`'),
  })
  .meta({ id: 'AdminEmailSummary' })
export type AdminEmailSummary = z.output<typeof adminEmailSummarySchema>

const suppressionSchema = z.object({
  emailHash: z.string(),
  reason: z.enum(SUPPRESSION_REASONS),
  companyId: z.uuid().nullable().describe('null: on the global list'),
  companyName: z.string().nullable(),
  addedAt: instant,
  expiresAt: instant.nullable(),
})
export type SuppressionOfEmail = z.output<typeof suppressionSchema>

export const adminEmailListSchema = z
  .object({
    data: z.array(adminEmailSummarySchema).describe('Newest first'),
    lookup: z
      .object({ by: z.enum(['id', 'recipient', 'externalId', 'messageId']), value: z.string() })
      .nullable()
      .describe('What was looked up; a recipient by the hash of the address'),
    range: z
      .object({ from: instant, to: instant })
      .nullable()
      .describe('The time range that was searched; null: a look-up in all e-mails'),
    searchedTo: instant
      .nullable()
      .describe('Set when the search stopped before the end of the range, to answer soon: the page goes on from there'),
    older: z.uuid().nullable().describe('For olderThan: the next page'),
    newer: z.uuid().nullable().describe('For newerThan: the page before'),
    suppression: z
      .array(suppressionSchema)
      .nullable()
      .describe('Entries of the address that was looked up, also when it never got an e-mail'),
  })
  .meta({ id: 'AdminEmailList' })
export type AdminEmailList = z.output<typeof adminEmailListSchema>

export const adminEmailSchema = adminEmailSummarySchema
  .extend({
    explanation: explanationInCodesSchema,
    events: z.array(
      emailEventSchema.extend({
        recipient: z
          .int()
          .nullable()
          .describe('Whom a provider reported on: the place in `recipients`; null: the e-mail'),
      }),
    ),
    attemptList: z.array(attemptSchema),
    recipients: z.array(
      z.object({
        kind: z.enum(['to', 'cc', 'bcc']),
        address: z.string().nullable().describe('null: erased'),
        name: z.string().nullable(),
        status: z.enum(EMAIL_STATUSES),
        suppressed: z.boolean().describe('It got no copy, because it was on the suppression list'),
        suppression: suppressionSchema.nullable().describe('The entry that would stop an e-mail to it now'),
      }),
    ),
    webhooks: z.array(
      z.object({
        webhookId: z.uuid(),
        deliveryId: z.uuid(),
        url: z.string(),
        type: z.string(),
        status: z.enum(['waiting', 'delivered', 'failed']),
        attempts: z.int(),
        createdAt: instant,
        lastAttemptAt: instant.nullable(),
        nextAttemptAt: instant.nullable(),
        lastStatus: z.int().nullable(),
        lastError: z.string().nullable(),
        lastDurationMs: z.int().nullable(),
      }),
    ),
    priority: z.int(),
    retryPolicy: z.string().nullable(),
    onUnknown: z.enum(['resend', 'hold']),
    contentGone: z.boolean(),
    attachments: z.int(),
    resentAs: z.array(z.uuid()).describe('The e-mails that sent this one again'),
    may: z
      .object({ resend: z.boolean(), replay: z.boolean(), cancel: z.boolean(), reschedule: z.boolean() })
      .describe('What its state allows; the role is checked when it is asked for'),
  })
  .meta({ id: 'AdminEmail' })
export type AdminEmail = z.output<typeof adminEmailSchema>

export const adminEmailContentSchema = z
  .object({
    html: z.string().nullable(),
    text: z.string().nullable(),
    headers: z.record(z.string(), z.string()).describe('That the request gave'),
    replyTo: z.array(z.string()),
    variables: z.record(z.string(), z.unknown()).nullable().describe('Of a template that is not rendered yet'),
    hasRemoteContent: z.boolean().describe('The HTML names images or styles of other hosts; the preview blocks them'),
    attachments: z.array(
      z.object({
        ordinal: z.int(),
        filename: z.string(),
        contentType: z.string(),
        contentId: z.string().nullable(),
        size: z.int(),
      }),
    ),
  })
  .meta({ id: 'AdminEmailContent' })
