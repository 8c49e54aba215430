import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/main/http.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { WEBHOOK_EVENT_SCHEMAS } from '../../src/webhooks/events.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'

type Schema = {
  $ref?: string
  type?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
  enum?: string[]
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
  pattern?: string
  format?: string
}
type Content = Record<string, { schema: Schema }>
type Operation = {
  summary?: string
  tags?: string[]
  security?: object[]
  parameters?: { name: string; in: string; required?: boolean }[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
type Document = {
  openapi: string
  servers: { url: string }[]
  security: object[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, object> }
}

const HELLO = { to: 'maria@example.com', subject: 'Hello', text: 'It works.' }

let gateway: TestGateway
let company: TestCompany
let document: Document

beforeAll(async () => {
  gateway = await startTestGateway()
  company = await gateway.company({ fromDomains: ['example.com'] })
  document = (await gateway.call(null, 'GET', '/openapi.json')).body
})
afterAll(() => gateway.stop())

const operation = (method: string, path: string) => document.paths[path]?.[method.toLowerCase()]

/** The documented schema as an independent program understands it. */
function compiled(pointer: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true })
  formats.default(ajv)
  ajv.addSchema({ $id: 'https://gateway.test/openapi.json', ...document })
  return ajv.compile({ $ref: `https://gateway.test/openapi.json#${pointer}` })
}

const pointerTo = (...parts: string[]) =>
  parts.map(part => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(await new Validator().validate(structuredClone(document))).toEqual({ valid: true })
  })

  test('refers only to what is in it', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(match => match[1]!)
    expect(references.length).toBeGreaterThan(10)
    const broken = new Set(references.filter(reference => !resolves(reference)))
    expect([...broken]).toEqual([])
  })

  test('names a server that answers', async () => {
    expect(document.servers).toHaveLength(1)
    const server = new URL(document.servers[0]!.url, gateway.url).href.replace(/\/$/, '')
    const answer = await fetch(`${server}/health/live`).catch(error => error.cause ?? error)
    expect(answer).toMatchObject({ status: 200 })
  })

  test('describes every route below /v1, and every other route it does not hide', async () => {
    const routes = await routesOfTheApp()
    expect(routes).toContain('POST /v1/email/send')
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map(method => `${method.toUpperCase()} ${path}`),
    )
    const versioned = (route: string) => route.includes(' /v1/')
    expect(described.filter(versioned).sort()).toEqual(routes.filter(versioned).sort())
    expect(routes).toEqual(expect.arrayContaining(described))
    expect(described).toEqual(expect.arrayContaining(['GET /health/live', 'GET /health/ready', 'GET /admin/inbox']))
  })

  test('says of every operation below /v1 what it is, what it needs, and how it refuses', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      if (!path.startsWith('/v1/')) continue
      for (const [method, { summary, tags, security, parameters = [], responses }] of Object.entries(operations)) {
        const route = `${method} ${path}`
        expect(summary, route).toMatch(/\S/)
        expect(tags, route).toHaveLength(1)
        expect(security ?? document.security, route).toEqual([{ apiKey: [] }, { bearer: [] }])
        expect(Object.keys(responses), route).toEqual(expect.arrayContaining(['401', '403']))
        const inPath = parameters.filter(one => one.in === 'path').map(one => `{${one.name}}`)
        expect(inPath, route).toEqual(path.match(/\{\w+\}/g) ?? [])
      }
    }
    expect(Object.keys(document.components.securitySchemes)).toEqual(['apiKey', 'bearer', 'administrator'])
  })

  test('describes every webhook that the gateway sends, with the headers that sign it', () => {
    const webhooks = (document as unknown as { webhooks: Record<string, { post: Operation }> }).webhooks
    expect(Object.keys(webhooks).sort()).toEqual(Object.keys(WEBHOOK_EVENT_SCHEMAS).sort())
    for (const [type, { post }] of Object.entries(webhooks)) {
      expect(post.parameters!.map(one => one.name)).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
      const validate = compiled(
        pointerTo('webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'),
      )
      expect(validate({ type, timestamp: 'today', data: {} })).toBe(false)
    }
  })

  test.each([
    ['POST', '/v1/email/send', ['202', '422']],
    ['POST', '/v1/email/batch', ['202', '422']],
    ['PATCH', '/v1/email/{outboxId}', ['200', '422']],
  ])('shows the body that %s %s takes, and its answers', (method, path, statuses) => {
    const { requestBody, responses } = operation(method, path)!
    expect(requestBody?.required).toBe(true)
    expect(Object.keys(requestBody!.content)).toEqual(['application/json'])
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(statuses))
    for (const status of statuses) expect(Object.keys(responses[status]!.content ?? {}), status).toHaveLength(1)
  })

  test('shows every answer of the sender domains, and how they are refused', () => {
    const paths = Object.entries(document.paths).filter(([path]) => path.startsWith('/domains'))
    const operations = paths.flatMap(([, methods]) => Object.values(methods))
    expect(operations).toHaveLength(5)
    for (const { summary, responses } of operations) {
      expect(Object.keys(responses), summary).toEqual(expect.arrayContaining(['401', '403']))
      expect(Object.keys(responses).filter(status => status < '300')).toHaveLength(1)
      for (const [status, { content }] of Object.entries(responses))
        expect(content?.['application/json']?.schema, `${status} of ${summary}`).toHaveProperty('$ref')
    }
  })

  test('asks for no key where none is needed, and for the administrator where one is', () => {
    expect(operation('GET', '/health/live')!.security).toEqual([])
    expect(operation('GET', '/admin/inbox')!.security).toEqual([{ administrator: [] }])
  })

  function resolves(reference: string): boolean {
    const parts = reference.replace(/^#\//, '').split('/')
    let found: unknown = reference.startsWith('#/') ? document : undefined
    for (const part of parts) {
      found = (found as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
    }
    return found !== undefined
  }

  /** As Fastify itself knows them, without those that are there to answer 405. */
  async function routesOfTheApp(): Promise<string[]> {
    const nothing = {
      db: {},
      keys: {},
      accept: {},
      tokens: {},
      events: { resendSecrets: [] },
      pepper: '',
      trustProxy: false,
      version: '0',
    }
    const log = makeLog({ level: 'silent', pretty: false })
    const app = await buildApp({ ...nothing, log, publicUrl: 'http://gateway.test' } as never)
    await app.ready()
    const above: string[] = []
    const routes = app
      .printRoutes()
      .split('\n')
      .flatMap(line => {
        const [, indent, part, methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
        if (indent === undefined) return []
        const depth = indent.length / 4
        above[depth] = `${above[depth - 1] ?? ''}${part}`
        const path = above[depth].replaceAll(/:(\w+)/g, '{$1}')
        return methods.split(', ').flatMap(method => (method && method !== 'HEAD' ? [`${method} ${path}`] : []))
      })
    const offered: string[] = []
    for (const route of routes) {
      const [method, url] = route.split(' ')
      const isRefused =
        /^\w+ \/v1\//.test(route) && (await app.inject({ method: method as 'GET', url: url! })).statusCode === 405
      if (!isRefused) offered.push(route)
    }
    await app.close()
    return offered
  }
})

describe('by the documented body of a send, the server agreeing', () => {
  const ATTACHMENT = { filename: 'a.txt', content: 'aGVsbG8=' }
  const RECIPIENT = { externalId: 'customer-1' }
  const send = (body: unknown) => gateway.call(company, 'POST', '/v1/email/send', body)
  const documented = () =>
    compiled(pointerTo('paths', '/v1/email/send', 'post', 'requestBody', 'content', 'application/json', 'schema'))

  test.each<[string, object]>([
    ['the least', HELLO],
    ['a name before the address', { ...HELLO, to: 'Maria <maria@example.com>', from: 'Loja <loja@example.com>' }],
    ['an internationalised domain', { ...HELLO, to: 'maria@padaria-são-joão.example' }],
    ['copies and replies', { ...HELLO, cc: ['a@example.com'], bcc: ['b@example.com'], replyTo: ['c@example.com'] }],
    ['one address to reply to', { ...HELLO, replyTo: 'c@example.com' }],
    ['an attachment', { ...HELLO, attachments: [{ ...ATTACHMENT, contentType: 'text/plain', contentId: 'a' }] }],
    ['a recipient', { ...HELLO, recipient: { ...RECIPIENT, cpfCnpj: '529.982.247-25', nome: 'Maria' } }],
    ['a delay', { ...HELLO, delay: 60_000, priority: 10, retryPolicy: 'patient', onUnknown: 'hold' }],
    ['a time', { ...HELLO, scheduledAt: new Date(Date.now() + 60_000).toISOString(), tags: ['a', 'b'] }],
    ['headers', { ...HELLO, html: '<p>It works.</p>', headers: { 'X-Entity-Ref-ID': '1' }, externalId: 'order-1' }],
  ])('%s may be sent', async (_what, body) => {
    const accepts = documented()
    expect(accepts(body), JSON.stringify(accepts.errors)).toBe(true)
    expect(await send(body)).toMatchObject({ status: 202 })
  })

  test('whatever breaks a rule may not, and the field is named', async () => {
    const accepts = documented()
    const schema = sendSchema()
    const attachment = schema.properties!.attachments!.items!
    const bodies: [string, unknown][] = [
      ...violations(schema, HELLO),
      ...violations(attachment, ATTACHMENT).map(([at, file]): [string, unknown] => [
        `attachments[0].${at}`,
        { ...HELLO, attachments: [file] },
      ]),
      ...violations(schema.properties!.recipient!, RECIPIENT).map(([at, person]): [string, unknown] => [
        `recipient.${at}`,
        { ...HELLO, recipient: person },
      ]),
    ]
    expect(bodies.length).toBeGreaterThan(60)
    for (const [field, body] of bodies) {
      const text = JSON.stringify(body).slice(0, 200)
      expect(accepts(body), `the document refuses ${field} of ${text}`).toBe(false)
      const answer = await send(body)
      expect(answer.status, `${field} of ${text}: ${answer.text}`).toBe(422)
      const paths: string[] = answer.body.errors.map((error: { path: string }) => error.path)
      expect(
        paths.filter(path => path.startsWith(field)),
        `${field} of ${text}: ${answer.text}`,
      ).not.toEqual([])
    }
  })

  test.each([[null], [[]], ['text'], [12]])('%j is no e-mail', async body => {
    expect(documented()(body)).toBe(false)
    expect((await send(JSON.stringify(body))).status).toBe(422)
  })

  function sendSchema(): Schema {
    const { schema } = operation('POST', '/v1/email/send')!.requestBody!.content['application/json']!
    return schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!]! : schema
  }

  /** One body per rule of the schema, breaking only that one; with the field that breaks it. */
  function violations(schema: Schema, good: object): [field: string, body: object][] {
    const missing = (schema.required ?? []).map((name): [string, object] => [
      name,
      Object.fromEntries(Object.entries(good).filter(([key]) => key !== name)),
    ])
    const wrong = Object.entries(schema.properties ?? {}).flatMap(([name, rule]) =>
      wrongValues(rule).map((value): [string, object] => [name, { ...good, [name]: value }]),
    )
    expect(schema.additionalProperties).toBe(false)
    return [...missing, ...wrong, ['unheardOf', { ...good, unheardOf: 1 }]]
  }

  function wrongValues(rule: Schema): unknown[] {
    const values: unknown[] = [null, rule.type === 'boolean' ? 'yes' : true]
    if (rule.minLength) values.push('')
    if (rule.maxLength) values.push('x'.repeat(rule.maxLength + 1))
    if (rule.pattern || rule.enum) values.push('not so!')
    if (rule.minimum !== undefined) values.push(rule.minimum - 1)
    if (rule.maximum !== undefined) values.push(rule.maximum + 1)
    if (rule.type === 'integer') values.push((rule.minimum ?? 0) + 0.5)
    const others = rule.additionalProperties
    if (others === false || (typeof others === 'object' && others.type === 'string')) values.push({ unheardOf: 1 })
    const item = rule.items?.type === 'object' ? ATTACHMENT : 'a@example.com'
    if (rule.minItems) values.push([])
    if (rule.maxItems) values.push(Array.from({ length: rule.maxItems + 1 }, () => item))
    if (rule.items) values.push([12])
    return values
  }
})

describe('what the server answers is in the document', () => {
  const json = { 'content-type': 'application/json' }
  let sent: string

  beforeAll(async () => {
    sent = (await gateway.call(company, 'POST', '/v1/email/send', { ...HELLO, delay: 60_000 })).body.outboxId
  })

  type Asked = { key?: false; method: string; path: string; body?: unknown; headers?: Record<string, string> }
  const NOBODYS = '01890000-0000-7000-8000-000000000000'

  test.each<[status: number, what: string, route: string, asked: () => Asked]>([
    [202, 'an e-mail', '/v1/email/send', () => ({ method: 'POST', path: '/v1/email/send', body: HELLO })],
    [202, 'a batch', '/v1/email/batch', () => ({ method: 'POST', path: '/v1/email/batch', body: [HELLO] })],
    [200, 'one e-mail', '/v1/email/{outboxId}', () => ({ method: 'GET', path: `/v1/email/${sent}` })],
    [
      200,
      'its explanation',
      '/v1/email/{outboxId}/explain',
      () => ({ method: 'GET', path: `/v1/email/${sent}/explain` }),
    ],
    [200, 'a list', '/v1/emails', () => ({ method: 'GET', path: '/v1/emails?limit=2' })],
    [
      200,
      'another time',
      '/v1/email/{outboxId}',
      () => ({ method: 'PATCH', path: `/v1/email/${sent}`, body: { delay: 9e5 } }),
    ],
    [
      200,
      'a cancellation',
      '/v1/email/{outboxId}/cancel',
      () => ({ method: 'POST', path: `/v1/email/${sent}/cancel` }),
    ],
    [409, 'a second one', '/v1/email/{outboxId}/cancel', () => ({ method: 'POST', path: `/v1/email/${sent}/cancel` })],
    [401, 'no key', '/v1/email/send', () => ({ key: false, method: 'POST', path: '/v1/email/send', body: HELLO })],
    [404, 'a foreign id', '/v1/email/{outboxId}', () => ({ method: 'GET', path: `/v1/email/${NOBODYS}` })],
    [422, 'a bad body', '/v1/email/send', () => ({ method: 'POST', path: '/v1/email/send', body: {} })],
    [422, 'a bad batch', '/v1/email/batch', () => ({ method: 'POST', path: '/v1/email/batch', body: [{}] })],
    [422, 'a bad filter', '/v1/emails', () => ({ method: 'GET', path: '/v1/emails?limit=0' })],
    [
      400,
      'broken JSON',
      '/v1/email/send',
      () => ({ method: 'POST', path: '/v1/email/send', body: '{', headers: json }),
    ],
    [
      415,
      'another media type',
      '/v1/email/send',
      () => ({ method: 'POST', path: '/v1/email/send', body: 'to=a', headers: { 'content-type': 'text/plain' } }),
    ],
    [401, 'no administrator', '/admin/inbox', () => ({ key: false, method: 'GET', path: '/admin/inbox' })],
    [200, 'its health', '/health/ready', () => ({ key: false, method: 'GET', path: '/health/ready' })],
  ])('%i for %s at %s', async (status, _what, route, asked) => {
    const { key = true, method, path, body, headers } = asked()
    const answer = await gateway.call(key ? company : null, method, path, body, headers)
    expect(answer.status, answer.text).toBe(status)
    const described = operation(method, route)!.responses[status]
    expect(Object.keys(operation(method, route)!.responses)).toContain(String(status))
    const mediaType = answer.headers.get('content-type')!.split(';')[0]!
    expect(Object.keys(described!.content ?? {})).toContain(mediaType)
    const conforms = compiled(
      pointerTo('paths', route, method.toLowerCase(), 'responses', String(status), 'content', mediaType, 'schema'),
    )
    expect(conforms(answer.body), JSON.stringify(conforms.errors)).toBe(true)
  })
})
