import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { type BodyMemoryOptions, boundBodies } from './body.ts'
import { baseApp } from './server.ts'

// Room for a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const KB = 1024
const POLL = { timeout: 20_000 }
const BODY = JSON.stringify('x'.repeat(40 * KB - 2))
const LIMITS = { total: 100 * KB, perKey: 80 * KB, countFrom: 10 * KB, maxWaitMs: 60_000 }

/** A server that answers a request when the test calls `answer`. */
async function server(change: Partial<BodyMemoryOptions> = {}) {
  const app = baseApp({ log: pino({ level: 'silent' }), trustProxy: false })
  const read: string[] = []
  const answers = new Map<string, () => void>()
  const onRequest = boundBodies({ ...LIMITS, ...change }, request => String(request.headers['x-name'])[0]!)
  app.post('/', { onRequest }, request => {
    const name = String(request.headers['x-name'])
    read.push(name)
    return new Promise(resolve => answers.set(name, () => resolve({})))
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  undo.push(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const send = (name: string, { body = BODY, chunked = false } = {}) => {
    const length = chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': Buffer.byteLength(body) }
    const headers = { 'content-type': 'application/json', 'x-name': name, ...length }
    const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', headers })
    request.on('error', () => {})
    undo.push(() => request.destroy())
    request.end(body)
    return request
  }
  const answer = (name: string) => answers.get(name)!()
  return { read, send, answer, readAll: (names: string[]) => expect.poll(() => read, POLL).toEqual(names) }
}

const statusOf = (request: ClientRequest) =>
  new Promise<IncomingMessage>(resolve => request.on('response', response => resolve(response.resume())))

test('a body that does not fit is read after another request has been answered', async () => {
  const { send, answer, readAll, read } = await server()
  send('a1')
  await readAll(['a1'])
  send('b1')
  await readAll(['a1', 'b1'])
  send('c1')
  // A small body is not counted, so it is read before c1.
  const small = send('d1', { body: '"small"' })
  await readAll(['a1', 'b1', 'd1'])
  answer('d1')
  await statusOf(small)
  expect(read).not.toContain('c1')
  answer('a1')
  await readAll(['a1', 'b1', 'd1', 'c1'])
})

test('a company that has used its share waits while another one is read', async () => {
  const { send, readAll } = await server({ total: 130 * KB })
  send('a1')
  await readAll(['a1'])
  send('a2')
  await readAll(['a1', 'a2'])
  send('a3')
  send('b1')
  await readAll(['a1', 'a2', 'b1'])
})

test('a request that waits too long is answered 503 with Retry-After', async () => {
  const { send, readAll } = await server({ maxWaitMs: 50 })
  send('a1')
  await readAll(['a1'])
  send('a2')
  await readAll(['a1', 'a2'])
  const { statusCode, headers } = await statusOf(send('b1'))
  expect([statusCode, headers['retry-after']]).toEqual([503, '1'])
})

test('a body without a length counts as the largest that is allowed', async () => {
  const { send, answer, readAll } = await server()
  send('a1')
  await readAll(['a1'])
  // The limit of this route is 64 KB, and 40 + 64 KB exceed the total.
  send('b1', { chunked: true })
  send('c1', { body: '"small"' })
  await readAll(['a1', 'c1'])
  answer('a1')
  await readAll(['a1', 'c1', 'b1'])
})

test('a client that disconnects releases its memory, whether its body was read or waiting', async () => {
  const { send, read, readAll } = await server()
  const first = send('a1')
  await readAll(['a1'])
  send('b1')
  await readAll(['a1', 'b1'])
  const waiting = send('c1')
  const next = send('d1')
  await new Promise(resolve => next.on('finish', resolve))
  waiting.destroy()
  first.destroy()
  await expect.poll(() => read, POLL).toContain('d1')
})
