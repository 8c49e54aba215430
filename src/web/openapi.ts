import type { RouteOptions } from 'fastify'
import type { OpenAPIV3_1 } from 'openapi-types'
import { z } from 'zod'
import { fieldProblemSchema } from '../platform/text/refusal.ts'
import { type AnyWebhookType, WEBHOOK_EVENT_SCHEMAS } from '../webhooks/events.ts'
import { scopeOf } from './access.ts'
import type { App } from './server.ts'

/** RFC 9457 with extension members. */
const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().describe('Stable; programs decide by this'),
    message: z.string(),
    detail: z.string().optional(),
    requestId: z.string(),
    errors: z.array(fieldProblemSchema).optional(),
    recipient: z.string().optional().describe('Hash of the suppressed address'),
  })
  .meta({ id: 'Problem' })

/** Swagger UI needs inline styles; everything else is served by the gateway. */
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function problemAnswers(...statuses: number[]) {
  const answer = { description: 'Problem', content: { 'application/problem+json': { schema: problemSchema } } }
  return Object.fromEntries(statuses.map(status => [status, answer])) as unknown as Record<number, typeof problemSchema>
}

/** Serves the OpenAPI document, which is generated from the schemas of the routes, and Swagger UI. */
export async function documentApi(
  app: App,
  { publicUrl, version }: { publicUrl: string | undefined; version: string },
): Promise<void> {
  // Loaded here: a command that calls a route needs no document.
  const { default: swagger } = await import('@fastify/swagger')
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  const { createJsonSchemaTransform, jsonSchemaTransformObject } = await import('fastify-type-provider-zod')
  app.addHook('onRoute', describeScope)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Email Gateway',
        version,
        description:
          'Transactional e-mail: a 202 is a promise. Errors are RFC 9457 problems with a stable `code` and the `requestId`.',
        license: { name: 'MIT' },
      },
      servers: [{ url: publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'sk_live_… or sk_test_…' },
          bearer: { type: 'http', scheme: 'bearer' },
          administrator: { type: 'http', scheme: 'basic' },
        },
      },
      security: [{ apiKey: [] }, { bearer: [] }],
    },
    transform: createJsonSchemaTransform({ skipList: ['/openapi.json'] }),
    transformObject: document =>
      withoutUnused(describeWebhooks(jsonSchemaTransformObject(document) as OpenAPIV3_1.Document)),
  })
  // Local assets only: the browser requests nothing from other hosts.
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: DOCS_POLICY,
    theme: { title: 'Email Gateway API' },
    uiConfig: { docExpansion: 'list', persistAuthorization: false, validatorUrl: null },
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
}

function describeScope(route: RouteOptions): void {
  const scope = scopeOf(route.onRequest)
  if (!scope) return
  const given = route.schema?.description ? `${route.schema.description} ` : ''
  route.schema = { ...route.schema, description: `${given}Scope of the key: ${scope}.` }
}

/** The transform registers every schema twice, as input and as output; the one without references is dropped. */
function withoutUnused(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
  const schemas = document.components?.schemas ?? {}
  for (let dropped = true; dropped; ) {
    const text = JSON.stringify(document)
    const unused = Object.keys(schemas).filter(name => !text.includes(`"#/components/schemas/${name}"`))
    for (const name of unused) delete schemas[name]
    dropped = unused.length > 0
  }
  return document
}

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
function describeWebhooks(document: OpenAPIV3_1.Document): OpenAPIV3_1.Document {
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
