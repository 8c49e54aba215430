import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type ProviderEventDeps, providerEventRoutes } from '../pipeline/feedback/routes.ts'
import { baseApp } from '../web/server.ts'

// Room for a loaded machine.
vi.setConfig({ testTimeout: 30_000 })

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const POLL = { timeout: 20_000 }
const NOT_SET_UP = {
  sns: { rules: async () => ({ topicArns: [], regions: [] }) },
  resendSecrets: [],
  onRefused: () => {},
} as unknown as ProviderEventDeps
const SET_UP = { ...NOT_SET_UP, resendSecrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] } as ProviderEventDeps

/** A server with short time limits, and raw connections to it whose `answer` is everything read until the connection closes. */
async function server({ headersMs = 60_000, requestMs = 60_000, eventBodyMs = 60_000, events = NOT_SET_UP } = {}) {
  const limits = { headersMs, requestMs, eventBodyMs, checkEveryMs: 20, connections: 5 }
  const app = baseApp({ log: pino({ level: 'silent' }), trustProxy: false, limits })
  app.post('/echo', async request => ({ got: request.body }))
  await app.register(async scope => providerEventRoutes(scope, events, limits))
  await app.listen({ host: '127.0.0.1', port: 0 })
  undo.push(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return { open: () => open(port) }
}

async function open(port: number): Promise<{ socket: Socket; answer: Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', chunk => {
    text += chunk
  })
  socket.on('error', () => {})
  undo.push(() => socket.destroy())
  const answer = once(socket, 'close').then(() => text)
  await once(socket, 'connect')
  return { socket, answer }
}

/** Sends single bytes until the connection closes. */
function sendSlowly(socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), 10)
  socket.on('close', () => clearInterval(timer))
}

const post = (path: string, length = 1_000_000) =>
  `POST ${path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`

function expectTimeout(text: string): void {
  expect(text).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
  expect(text).toMatch(/\r\nconnection: close\r\n/i)
  expect(text).toMatch(/\r\ncontent-type: application\/problem\+json/i)
  expect(JSON.parse(text.split('\r\n\r\n')[1]!)).toMatchObject({ status: 408, code: 'REQUEST_TIMEOUT' })
}

describe('a request', () => {
  test('whose headers do not arrive in time is answered 408 and closed', async () => {
    const { socket, answer } = await (await server({ headersMs: 100 })).open()
    socket.write('POST /echo HTTP/1.1\r\nx-slow: ')
    sendSlowly(socket)
    expectTimeout(await answer)
  })

  test('that never starts is answered 408 and closed', async () => {
    expectTimeout(await (await (await server({ headersMs: 100 })).open()).answer)
  })

  test('whose body does not arrive in time is answered 408 and closed', async () => {
    const { socket, answer } = await (await server({ headersMs: 100, requestMs: 200 })).open()
    socket.write(`${post('/echo', 60_000)}\r\n{"slow":"`)
    sendSlowly(socket)
    expectTimeout(await answer)
  })

  test('that is not HTTP is answered with a problem and closed', async () => {
    const { socket, answer } = await (await server()).open()
    socket.write('hello\r\n\r\n')
    const text = await answer
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(JSON.parse(text.split('\r\n\r\n')[1]!)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' })
  })

  test('with headers that are too large is answered 431', async () => {
    const { socket, answer } = await (await server()).open()
    socket.write(`${post('/echo')}x-long: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('before its body is read', () => {
  test.each([
    ['an unknown path', '/nowhere', 404],
    ['the path of SNS without SNS_TOPIC_ARNS', '/webhooks/ses', 503],
    ['the path of Resend without RESEND_WEBHOOK_SECRET', '/webhooks/resend', 503],
  ])('%s is refused, and the connection closed', async (_name, path, status) => {
    const { socket, answer } = await (await server()).open()
    socket.write(`${post(path, 900_000)}\r\n{`)
    expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  })

  test('a body that is larger than allowed is refused', async () => {
    const { socket, answer } = await (await server()).open()
    socket.write(`${post('/echo', 900_000)}\r\n{`)
    expect(await answer).toMatch(/^HTTP\/1\.1 413 /)
  })
})

test('the body of a provider event has a shorter time limit', async () => {
  const { socket, answer } = await (await server({ eventBodyMs: 100, events: SET_UP })).open()
  socket.write(`${post('/webhooks/resend', 900_000)}\r\n{`)
  sendSlowly(socket)
  expectTimeout(await answer)
})

test('by default a request has 30 s, its headers 10 s, and a process 8192 connections', async () => {
  const { server } = baseApp({ log: pino({ level: 'silent' }), trustProxy: false })
  const { requestTimeout, headersTimeout, maxConnections } = server
  expect({ requestTimeout, headersTimeout, maxConnections }).toEqual({
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    maxConnections: 8_192,
  })
})

test('connections above the limit are closed at once, and a new one is accepted when another has closed', async () => {
  const { open } = await server()
  const held = await Promise.all(Array.from({ length: 5 }, open))
  const sixth = await open()
  expect(await sixth.answer).toBe('')
  held[0]!.socket.destroy()
  await held[0]!.answer
  await expect
    .poll(async () => {
      const { socket, answer } = await open()
      socket.write('GET /nowhere HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n')
      return (await answer).slice(0, 12)
    }, POLL)
    .toBe('HTTP/1.1 404')
})

test.each([
  ['has no body', 'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n'],
  ['has an unknown content type', 'Content-Type: text/x-unknown\r\nContent-Length: 4\r\n\r\nbody'],
  ['is too large', 'Content-Type: application/json\r\nContent-Length: 99000000\r\n\r\n{'],
])('a provider event that %s and is never read does not end the process when its time is over', async (_, rest) => {
  const uncaught: unknown[] = []
  const note = (error: unknown) => void uncaught.push(error)
  const before = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', note)
  undo.push(() => {
    process.off('uncaughtException', note)
    for (const one of before) process.on('uncaughtException', one)
  })
  const { open } = await server({ eventBodyMs: 50, events: SET_UP })
  const { socket } = await open()
  const answered = once(socket, 'data')
  socket.write(`POST /webhooks/resend HTTP/1.1\r\nHost: gateway\r\n${rest}`)
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 4\d\d /)
  await new Promise(resolve => setTimeout(resolve, 200))
  expect(uncaught).toEqual([])
})
