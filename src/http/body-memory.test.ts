import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { baseApp } from './app.ts'
import { type BodyMemoryOptions, boundBodies } from './body-memory.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const KB = 1024
const BODY = JSON.stringify('x'.repeat(40 * KB - 2))
const LIMITS = { total: 100 * KB, perKey: 80 * KB, countFrom: 10 * KB, patienceMs: 60_000 }

/** A server that answers a body when the test says so. */
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
  return { read, send, answer, readAll: (names: string[]) => expect.poll(() => read).toEqual(names) }
}

const statusOf = (request: ClientRequest) =>
  new Promise<IncomingMessage>(resolve => request.on('response', response => resolve(response.resume())))

test('what does not fit is read when something else has been answered', async () => {
  const { send, answer, readAll, read } = await server()
  send('a1')
  await readAll(['a1'])
  send('b1')
  await readAll(['a1', 'b1'])
  send('c1')
  // A small one is not counted, so it overtakes.
  const small = send('d1', { body: '"small"' })
  await readAll(['a1', 'b1', 'd1'])
  answer('d1')
  await statusOf(small)
  expect(read).not.toContain('c1')
  answer('a1')
  await readAll(['a1', 'b1', 'd1', 'c1'])
})

test('one company has its share, and another is read meanwhile', async () => {
  const { send, readAll } = await server({ total: 130 * KB })
  send('a1')
  await readAll(['a1'])
  send('a2')
  await readAll(['a1', 'a2'])
  send('a3')
  send('b1')
  await readAll(['a1', 'a2', 'b1'])
})

test('whoever waits too long is told to come again', async () => {
  const { send, readAll } = await server({ patienceMs: 50 })
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
  // The limit of this route is 64 KB: 40 and 64 are more than there is.
  send('b1', { chunked: true })
  send('c1', { body: '"small"' })
  await readAll(['a1', 'c1'])
  answer('a1')
  await readAll(['a1', 'c1', 'b1'])
})

test('whoever hangs up gives its memory back, read or waiting', async () => {
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
  await expect.poll(() => read).toContain('d1')
})
