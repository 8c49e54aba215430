import type { OpenAPIV3_1 } from 'openapi-types'
import { type AnyWebhookType, WEBHOOK_EVENT_SCHEMAS } from '../contracts/webhooks/events.ts'

const SUMMARIES: Record<AnyWebhookType, string> = {
  'email.sent': 'The provider has accepted the e-mail',
  'email.failed': 'The e-mail is dead: refused, failed for good, or its attempts are used up. Once for each death',
  'email.delivered': "The recipient's server has taken it",
  'email.bounced': 'It came back',
  'email.complained': 'The recipient called it spam',
  'email.expired': 'It could not be sent within 24 hours of its due time',
  'email.suppressed': 'The recipient was put on the suppression list before it was sent',
  'company.warned': 'Bounces or complaints come near the limit',
  'company.paused': 'The company was paused, because of its bounces or complaints',
  'company.dead_letters': 'More than 50 live e-mails of the company became dead letters within an hour; once an hour',
  'webhook.test': 'Asked for with POST /v1/webhooks/{id}/test',
  'webhook.disabled': 'Another endpoint of the company was disabled; every other endpoint is told',
}

const header = (name: string, description: string): OpenAPIV3_1.ParameterObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

const HEADERS = [
  header('webhook-id', 'The same for every retry and replay: what was seen before can be dropped'),
  header('webhook-timestamp', 'Seconds since 1970, of this attempt'),
  header('webhook-signature', 'v1,<base64>; several, separated by spaces, while a secret is being rotated'),
]

/** Adds the requests that the gateway makes, from the schemas that the tests check their bodies with. */
export function describeWebhooks(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  document.webhooks = Object.fromEntries(
    Object.entries(WEBHOOK_EVENT_SCHEMAS).map(([type, schema]) => [
      type,
      {
        post: {
          summary: SUMMARIES[type as AnyWebhookType],
          tags: ['Webhooks'],
          security: [],
          parameters: HEADERS,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema.meta()!.id}` } } },
          },
          responses: {
            '2XX': { description: 'Taken. Anything else, or nothing within 10 seconds, is tried again' },
            '410': { description: 'The endpoint is disabled at once' },
          },
        },
      },
    ]),
  )
  return document
}
