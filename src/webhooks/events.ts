import { z } from 'zod'

/** The types that an endpoint can subscribe to. */
export const WEBHOOK_EVENT_TYPES = [
  'email.sent',
  'email.failed',
  'email.delivered',
  'email.bounced',
  'email.complained',
  'email.expired',
  'email.suppressed',
  'company.warned',
  'company.paused',
  'company.dead_letters',
] as const
export const DEFAULT_WEBHOOK_EVENT_TYPES: WebhookEventType[] = ['email.sent', 'email.failed']
/** About the webhooks themselves, sent to every endpoint. */
export const WEBHOOK_NOTICE_TYPES = ['webhook.test', 'webhook.disabled'] as const

export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number]
export type AnyWebhookType = WebhookEventType | (typeof WEBHOOK_NOTICE_TYPES)[number]

/** Why an e-mail is dead: the provider refused it, another permanent failure, or its attempts were used up. */
export const FAILURE_CODES = ['REJECTED', 'FAILED', 'DLQ_MOVED'] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

const instant = z.iso.datetime()

const aboutEmail = z.object({
  sequence: z.int().describe('Increases with each webhook about one e-mail; only the order has a meaning'),
  outboxId: z.uuid(),
  externalId: z.string().nullable(),
  companyId: z.uuid(),
  requestId: z.string(),
  recipient: z.string().nullable().describe('The recipient it is about; null once the person was erased'),
  recipientHash: z.string().nullable().describe('sha256:<hex> of the address'),
  from: z.string().nullable().describe('null: it came by SQL and ended before it got a sender'),
  to: z.array(z.string()),
  subject: z.string().nullable(),
  tags: z.array(z.string()),
  test: z.boolean().describe('Sent with an sk_test_ key, so it never left the gateway'),
})

const failure = {
  attempts: z.int(),
  errorCode: z.string().nullable(),
  errorCategory: z.string().nullable(),
  reason: z.string().describe('In words; addresses and documents are masked'),
}

const DATA = {
  'email.sent': aboutEmail.extend({
    messageId: z.string().nullable(),
    sentAt: instant,
    attempts: z.int(),
    processingTimeMs: z.int().nullable(),
  }),
  'email.failed': aboutEmail.extend({ failureCode: z.enum(FAILURE_CODES), failedAt: instant, ...failure }),
  'email.delivered': aboutEmail.extend({
    messageId: z.string().nullable(),
    deliveredAt: instant,
    smtpResponse: z.string().nullable(),
    processingTimeMs: z.int().nullable(),
  }),
  'email.bounced': aboutEmail.extend({
    messageId: z.string().nullable(),
    bouncedAt: instant,
    bounceType: z.string().nullable().describe('Permanent, Transient or Undetermined'),
    bounceSubType: z.string().nullable(),
    diagnosticCode: z.string().nullable(),
  }),
  'email.complained': aboutEmail.extend({
    messageId: z.string().nullable(),
    complainedAt: instant,
    feedbackType: z.string().nullable(),
    userAgent: z.string().nullable(),
  }),
  'email.expired': aboutEmail.extend({ expiredAt: instant, attempts: z.int() }),
  'email.suppressed': aboutEmail.extend({
    suppressedAt: instant,
    suppressed: z.array(z.string()).describe('Hashes of the suppressed addresses'),
  }),
  'company.warned': z.looseObject({ sequence: z.int(), companyId: z.uuid() }),
  'company.paused': z.looseObject({ sequence: z.int(), companyId: z.uuid() }),
  'company.dead_letters': z.object({
    sequence: z.int(),
    companyId: z.uuid(),
    deadLetters: z.int().describe('Live e-mails that became dead letters in this time'),
    windowSeconds: z.int(),
    codes: z
      .array(z.object({ code: z.string(), deadLetters: z.int() }))
      .describe('The most frequent error codes, most first'),
  }),
  'webhook.test': z.object({ sequence: z.int(), companyId: z.uuid(), webhookId: z.uuid(), message: z.string() }),
  'webhook.disabled': z.object({
    sequence: z.int(),
    companyId: z.uuid(),
    webhookId: z.uuid(),
    url: z.string(),
    reason: z.enum(['GONE', 'FAILING']),
  }),
} as const satisfies Record<AnyWebhookType, z.ZodType>

const event = <Type extends AnyWebhookType>(type: Type) =>
  z
    .object({ type: z.literal(type), timestamp: instant.describe('When it happened'), data: DATA[type] })
    .meta({ id: `Webhook_${type.replace('.', '_')}` })

/** The body of each webhook, by its type. */
export const WEBHOOK_EVENT_SCHEMAS = {
  'email.sent': event('email.sent'),
  'email.failed': event('email.failed'),
  'email.delivered': event('email.delivered'),
  'email.bounced': event('email.bounced'),
  'email.complained': event('email.complained'),
  'email.expired': event('email.expired'),
  'email.suppressed': event('email.suppressed'),
  'company.warned': event('company.warned'),
  'company.paused': event('company.paused'),
  'company.dead_letters': event('company.dead_letters'),
  'webhook.test': event('webhook.test'),
  'webhook.disabled': event('webhook.disabled'),
} as const satisfies Record<AnyWebhookType, z.ZodType>

export type WebhookEvent = {
  [Type in AnyWebhookType]: z.infer<(typeof WEBHOOK_EVENT_SCHEMAS)[Type]>
}[AnyWebhookType]

export const webhookEventSchema = z.discriminatedUnion('type', [
  WEBHOOK_EVENT_SCHEMAS['email.sent'],
  WEBHOOK_EVENT_SCHEMAS['email.failed'],
  WEBHOOK_EVENT_SCHEMAS['email.delivered'],
  WEBHOOK_EVENT_SCHEMAS['email.bounced'],
  WEBHOOK_EVENT_SCHEMAS['email.complained'],
  WEBHOOK_EVENT_SCHEMAS['email.expired'],
  WEBHOOK_EVENT_SCHEMAS['email.suppressed'],
  WEBHOOK_EVENT_SCHEMAS['company.warned'],
  WEBHOOK_EVENT_SCHEMAS['company.paused'],
  WEBHOOK_EVENT_SCHEMAS['company.dead_letters'],
  WEBHOOK_EVENT_SCHEMAS['webhook.test'],
  WEBHOOK_EVENT_SCHEMAS['webhook.disabled'],
])
