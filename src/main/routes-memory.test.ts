import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test, vi } from 'vitest'
import { hashSecret, makeApiKey } from '../companies/keys.ts'
import { type SendRouteDeps, sendRoutes } from '../pipeline/accept/routes.ts'
import { type ProviderEventDeps, providerEventRoutes } from '../pipeline/feedback/routes.ts'
import { BATCH_BODY_LIMIT, EVENT_MEMORY, SEND_MEMORY } from '../web/body.ts'
import { type App, baseApp } from '../web/server.ts'

// Room for a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const KB = 1024
const MB = 1024 * KB
/** Little memory and a short wait, so that the second request is refused at once. */
const SMALL_MEMORY = { total: 100 * KB, perKey: 100 * KB, countFrom: 64 * KB, maxWaitMs: 20 }
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

type Post = { path: string; headers?: Record<string, string>; length: number; body?: string }

/** Without `body`, the request announces a body and never sends it. */
async function listening(addRoutes: (app: App) => unknown) {
  const app = baseApp({ log: pino({ level: 'silent' }), trustProxy: true })
  await app.register(async scope => void (await addRoutes(scope as App)))
  await app.listen({ host: '127.0.0.1', port: 0 })
  undo.push(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return function post({ path, headers = {}, length, body }: Post): Promise<number | undefined> {
    const type = { 'content-type': 'application/json', 'content-length': length }
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers: { ...type, ...headers } })
    undo.push(() => request.destroy())
    if (body === undefined) request.flushHeaders()
    else request.end(body)
    return new Promise(resolve => {
      request.on('error', () => resolve(undefined))
      request.on('response', response => resolve(response.resume().statusCode))
    })
  }
}

const large = (path: string, headers = {}, length = 90 * KB): Post => ({
  path,
  headers,
  length,
  body: `"${'x'.repeat(length - 2)}"`,
})

test.each(['/v1/email/send', '/v1/email/batch'])('%s reads no more than there is memory for', async path => {
  const { apiKey, keyId, secret } = makeApiKey('live')
  const known = { keyId, companyId: 'c', mode: 'live', secretHash: hashSecret(secret, 'pepper'), scopes: ['send'] }
  const keys = { find: () => known, used: () => {} }
  const post = await listening(app =>
    sendRoutes(app, { keys, pepper: 'pepper' } as unknown as SendRouteDeps, SMALL_MEMORY),
  )
  const headers = { 'x-api-key': apiKey }
  void post({ path, headers, length: 90 * KB })
  await expect.poll(() => post(large(path, headers)), { timeout: 20_000 }).toBe(503)
})

const stored: unknown[] = []
const EVENTS = {
  inbox: { add: async (event: unknown) => stored.push(event) },
  onReported: () => {},
  onRefused: () => {},
  sns: { rules: async () => ({ topicArns: ['arn'], regions: [] }), nowMs: () => 0 },
  resendSecrets: [SECRET],
} as unknown as ProviderEventDeps

test.each(['/webhooks/ses', '/webhooks/resend'])('%s reads no more than there is memory for', async path => {
  const post = await listening(app => providerEventRoutes(app, EVENTS, undefined, SMALL_MEMORY))
  void post({ path, length: 90 * KB })
  await expect.poll(() => post(large(path)), { timeout: 20_000 }).toBe(503)
})

test('a small provider event does not wait for large ones that never arrive', async () => {
  const memory = { ...EVENT_MEMORY, total: 10_000_000, perKey: 2_000_000, maxWaitMs: 20 }
  const post = await listening(app => providerEventRoutes(app, EVENTS, undefined, memory))
  const path = '/webhooks/resend'
  const from = (address: string) => ({ 'x-forwarded-for': address })
  for (let n = 0; n < 10; n++) void post({ path, headers: from(`198.51.100.${n % 5}`), length: 1_000_000 })
  await expect.poll(() => post(large(path, from('203.0.113.9'), 900 * KB)), { timeout: 20_000 }).toBe(503)

  const body = JSON.stringify({ type: 'email.delivered', data: { text: 'x'.repeat(8 * KB) } })
  const now = new Date()
  const signed = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(SECRET).sign('msg_1', now, body),
  }
  expect(await post({ path, headers: { ...from('192.0.2.1'), ...signed }, length: body.length, body })).toBe(200)
  expect(stored).toMatchObject([{ provider: 'resend', externalId: 'msg_1' }])
})

test('one company leaves room for the largest batches of two others', () => {
  expect(SEND_MEMORY.perKey).toBeGreaterThanOrEqual(BATCH_BODY_LIMIT)
  expect(SEND_MEMORY.total - SEND_MEMORY.perKey).toBeGreaterThanOrEqual(2 * BATCH_BODY_LIMIT)
  expect(SEND_MEMORY.total).toBeLessThanOrEqual(96 * MB)
})
