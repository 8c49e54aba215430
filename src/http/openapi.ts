import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { RouteOptions } from 'fastify'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { OpenAPIV3_1 } from 'openapi-types'
import { z } from 'zod'
import { fieldProblemSchema } from '../contracts/refusal.ts'
import type { App } from './app.ts'
import { scopeOf } from './auth.ts'
import { describeWebhooks } from './openapi-webhooks.ts'

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
