import { z } from 'zod'
import { DEFAULT_WEBHOOK_EVENT_TYPES, WEBHOOK_EVENT_TYPES, WEBHOOK_NOTICE_TYPES } from './events.ts'

export const WEBHOOK_LIMITS = { ENDPOINTS: 10, URL: 2048, DESCRIPTION: 200, OVERLAP_HOURS: 24 } as const

const instant = z.iso.datetime()
const printable = (text: string) => !/[\u0000-\u001f\u007f]/.test(text)

const url = z
  .string()
  .max(WEBHOOK_LIMITS.URL)
  .refine(printable, 'must not contain control characters')
  .describe('https, on the public internet')
const description = z
  .string()
  .max(WEBHOOK_LIMITS.DESCRIPTION)
  .refine(printable, 'must not contain control characters')
  .nullable()
const eventTypes = z
  .array(z.enum(WEBHOOK_EVENT_TYPES))
  .min(1)
  .max(WEBHOOK_EVENT_TYPES.length)
  .transform(types => [...new Set(types)])

export const newWebhookSchema = z
  .strictObject({
    url,
    description: description.optional(),
    eventTypes: eventTypes.default(DEFAULT_WEBHOOK_EVENT_TYPES),
  })
  .meta({ id: 'NewWebhook', example: { url: 'https://example.com/hooks', eventTypes: DEFAULT_WEBHOOK_EVENT_TYPES } })

export const webhookChangeSchema = z
  .strictObject({
    url: url.optional(),
    description: description.optional(),
    eventTypes: eventTypes.optional(),
    enabled: z.boolean().optional().describe('true also enables an endpoint again that was disabled for its failures'),
  })
  .refine(body => Object.keys(body).length > 0, 'name at least one field to change')
  .meta({ id: 'WebhookChange', example: { enabled: true } })

export const webhookSchema = z
  .object({
    id: z.uuid(),
    format: z
      .enum(['native', 'resend'])
      .describe('resend: made by the Resend-compatible API, and gets bodies of that form'),
    test: z.boolean().describe('Created with a test key: it receives events of test e-mails only'),
    url: z.string(),
    description: z.string().nullable(),
    eventTypes: z.array(z.enum(WEBHOOK_EVENT_TYPES)),
    enabled: z.boolean(),
    disabledAt: instant.nullable(),
    disabledReason: z.enum(['MANUAL', 'GONE', 'FAILING']).nullable(),
    failingSince: instant.nullable().describe('The first failure since the last successful delivery'),
    previousSecretUntil: instant.nullable().describe('Until then the secret before the last rotation signs as well'),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Webhook' })

export const webhookWithSecretSchema = webhookSchema
  .extend({ secret: z.string().describe('whsec_…: shown now and never again') })
  .meta({ id: 'WebhookWithSecret' })

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed'] as const

export const webhookDeliverySchema = z
  .object({
    id: z.uuid().describe('The header webhook-id is msg_ followed by this id'),
    type: z.enum([...WEBHOOK_EVENT_TYPES, ...WEBHOOK_NOTICE_TYPES]),
    outboxId: z.uuid().nullable(),
    sequence: z.int(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.int(),
    createdAt: instant,
    lastAttemptAt: instant.nullable(),
    nextAttemptAt: instant.nullable().describe('Set while it waits for a retry'),
    lastStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    lastAnswer: z.string().nullable().describe('The first 1024 bytes, masked'),
    lastDurationMs: z.int().nullable(),
  })
  .meta({ id: 'WebhookDelivery' })

export type WebhookEndpoint = z.infer<typeof webhookSchema>
export type WebhookWithSecret = z.infer<typeof webhookWithSecretSchema>
export type WebhookChange = z.output<typeof webhookChangeSchema>
export type WebhookDelivery = z.infer<typeof webhookDeliverySchema>
