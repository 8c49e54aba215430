import { Agent, request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of any form
type Json = any
type Route = { method: string; path: string; query: string[]; takesBody: boolean }

const agent = new Agent({ keepAlive: true, maxSockets: 8 })
const LOGIN = `Basic ${Buffer.from('ana:a password of ana').toString('base64')}`

let gateway: TestGateway
let apiKey: string
let routes: Route[]

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  apiKey = (await gateway.company()).apiKey
  await putAdministrator(gateway.db.pool, 'ana', await hashPassword('a password of ana'))
  const document: Json = (await gateway.call(null, 'GET', '/openapi.json')).body
  routes = Object.entries<Json>(document.paths).flatMap(([path, operations]) =>
    Object.entries<Json>(operations).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      query: parameters.filter((one: Json) => one.in === 'query').map((one: Json) => one.name),
      takesBody: requestBody !== undefined,
    })),
  )
})
afterAll(async () => {
  agent.destroy()
  await gateway.stop()
})

/** The path as it is, which fetch would tidy up. */
function ask(method: string, path: string, given?: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(gateway.url)
  const admin = path.startsWith('/admin')
  // What administrators change needs a body of JSON, also where nothing is read from it.
  const body = given ?? (admin && method !== 'GET' ? '{}' : undefined)
  const headers = {
    ...(admin ? { authorization: LOGIN } : { 'x-api-key': apiKey }),
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
  }
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers, agent }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode!, text })).on('error', reject)
    })
    asked.on('error', reject).end(body)
  })
}

const ID = '01890000-0000-7000-8000-000000000001'
const HOSTILE = [
  ...[
    '%00',
    'a%00b',
    '%',
    '%zz',
    '%c0%af',
    '%ff',
    '%ed%a0%80',
    '%2e%2e',
    '..',
    '%2e%2e%2f%2e%2e',
    '%5c',
    '%0d%0a',
    '\\',
  ],
  ...['null', '-1', '1e999', '99999999999999999999', "'", '%22', '%3Cscript%3E', '__proto__', 'constructor', '{}', '*'],
  ...['x'.repeat(199), 'x'.repeat(300), 'x'.repeat(5_000), '%41'.repeat(300), '%F0%9F%98%80'.repeat(60), '\u00e9'],
  ...[
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    'sha256:',
    `sha256:${'g'.repeat(64)}`,
  ],
  ...['AAAA', 'eyJ9', 'W10', 'e30', 'bnVsbA', Buffer.from('[1,2,3]').toString('base64url'), `${'A'.repeat(21)}g`],
  ...['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z', '2026-02-30', '-infinity', 'now'],
]
/** Of the right form, with something in them that no page ever said. */
const CURSORS = [
  `addedAt desc infinity ${ID}`,
  `addedAt desc 0001-01-01T00:00:00Z ${ID}`,
  `addedAt desc 9999-12-31T23:59:59Z ${ID}`,
  `addedAt desc 2026-01-01T00:00:00Z ${'f'.repeat(36)}`,
  'addedAt desc \0 \0',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
].map(text => Buffer.from(text).toString('base64url'))
/** Node itself refuses to send what is no header line. */
const sendable = (text: string) => encodeURI(text).replaceAll('%25', '%')

async function expectNo500(method: string, path: string, body: string | undefined): Promise<void> {
  const { status, text } = await ask(method, path, body)
  expect(status, `${method} ${path.slice(0, 300)}: ${text.slice(0, 300)}`).toBeLessThan(500)
}

/** Not the webhook routes of providers, which are not set up here and say so with 503. */
const asked = () => routes.filter(route => !route.path.startsWith('/webhooks/'))
const withIds = (path: string, id: string) => path.replace(/\{\w+\}/g, () => sendable(id))

type Ask = [method: string, path: string, body: string | undefined]

/** There are many routes for administrators: they get every sixth of the values, each others. */
function some<T>(values: T[], path: string, place: number): T[] {
  return path.startsWith('/admin') ? values.filter((_, index) => (index + place) % 6 === 0) : values
}

/** A few at a time: there are thousands. */
async function expectNo500s(asks: Ask[]): Promise<void> {
  expect(asks.length).toBeGreaterThan(100)
  const waiting = asks.values()
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const one of waiting) await expectNo500(...one)
    }),
  )
}

describe('whatever a caller writes, nothing is the fault of the server', () => {
  test('as an id in any path', async () => {
    const routes = asked().filter(({ path }) => path.includes('{'))
    await expectNo500s(
      routes.flatMap(({ method, path, takesBody }, place) =>
        some(HOSTILE, path, place).map((value): Ask => [method, withIds(path, value), takesBody ? '{}' : undefined]),
      ),
    )
  }, 120_000)

  test('as any query parameter', async () => {
    const odd = ['?', '?&&&', '?=', '?a', '?%', '?%00=%00', '?a[b]=c', `?a=${'x'.repeat(10_000)}`, '?a=1&a=2']
    await expectNo500s(
      asked().flatMap(({ method, path, query, takesBody }) => {
        const known = query.flatMap((name, place) =>
          [...some(HOSTILE, path, place), ...CURSORS].map(value => `?${name}=${sendable(value)}`),
        )
        return [...odd, ...known].map((text): Ask => [method, withIds(path, ID) + text, takesBody ? '{}' : undefined])
      }),
    )
  }, 120_000)

  test('as a body', async () => {
    const fixed = [
      '',
      'null',
      '[]',
      '{}',
      '0',
      '"x"',
      '{',
      '[[[]]]',
      '{"":null}',
      '{"__proto__":1}',
      '"\\u0000"',
      '\\ud800',
    ]
    const made = fc.sample(fc.jsonValue({ maxDepth: 3 }), { numRuns: 20, seed: 1 }).map(value => JSON.stringify(value))
    await expectNo500s(
      asked()
        .filter(route => route.takesBody)
        .flatMap(({ method, path }) => [...fixed, ...made].map((body): Ask => [method, withIds(path, ID), body])),
    )
  }, 120_000)

  test.each([
    '/docs/static/%2e%2e/x',
    '/docs/static/..%2f..%2fpackage.json',
    '/docs/static/%00',
    '/docs/static/%',
    '/docs/static/x'.padEnd(3_000, 'x'),
    '/docs/%2e%2e/%2e%2e/x',
    '/%2e%2e',
    '/%',
    '/%ff',
    '//x',
    '/\\x',
    '/admin/%00',
    '/admin/inbox/%ff',
    '/nothing?%00',
    '/v1/email/%2e%2e/%2e%2e/metrics',
  ])('%s is not found, or is refused', async path => {
    const { status, text } = await ask('GET', path)
    expect([400, 404, 414], `${path}: ${text}`).toContain(status)
    expect(JSON.parse(text)).toMatchObject({ status, code: expect.any(String), requestId: expect.any(String) })
  })
})

test('a path that does not exist is told from an id that does not exist', async () => {
  const key = { apiKey }
  const unknownPath = await gateway.call(key, 'GET', `/v1/emails/${ID}`)
  const unknownId = await gateway.call(key, 'GET', `/v1/email/${ID}`)
  expect([unknownPath.status, unknownId.status]).toEqual([404, 404])
  expect(unknownPath.body.detail).toBe('There is no such path for GET; /docs lists them all.')
  expect(unknownId.body.detail).not.toBe(unknownPath.body.detail)
})

describe('a query parameter that the route does not know', () => {
  test('is refused by its name, everywhere below /v1 and /admin', async () => {
    const known = asked().filter(({ path }) => /^\/(v1|admin)/.test(path))
    expect(known.length).toBeGreaterThan(20)
    for (const { method, path, takesBody } of known) {
      const { status, text } = await ask(method, `${withIds(path, ID)}?limitt=10`, takesBody ? '{}' : undefined)
      const route = `${method} ${path}: ${text}`
      // A body is looked at before the query, and so is a path that asks for more than an id.
      if (status === 422 && (takesBody || /\{(ordinal|version|index)\}/.test(path)) && !text.includes('limitt'))
        continue
      expect(status, route).toBe(422)
      expect(JSON.parse(text).errors, route).toContainEqual({
        path: 'limitt',
        code: 'UNKNOWN_PARAMETER',
        message: 'is not a query parameter of this route',
      })
    }
  })

  test('leaves the known ones as they are', async () => {
    expect((await ask('GET', '/v1/emails?limit=10')).status).toBe(200)
    expect((await ask('GET', '/v1/emails?limit=10&Limit=10')).status).toBe(422)
    expect((await ask('GET', '/health/live?probe=1')).status).toBe(200)
  })
})
