import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { baseApp } from './app.ts'
import { type ProviderEventDeps, providerEventRoutes } from './routes-provider-events.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

const NOT_SET_UP = { sns: null, resendSecrets: [], onRefused: () => {} } as unknown as ProviderEventDeps
const SET_UP = { ...NOT_SET_UP, resendSecrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] } as ProviderEventDeps

/** A server with little patience, and what a raw connection to it reads until it is closed. */
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

/** A byte now and then, for ever. */
function drip(socket: Socket): void {
  const dripping = setInterval(() => socket.write('x'), 10)
  socket.on('close', () => clearInterval(dripping))
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
  test('whose headers do not come in time is answered 408 and closed', async () => {
    const { socket, answer } = await (await server({ headersMs: 100 })).open()
    socket.write('POST /echo HTTP/1.1\r\nx-slow: ')
    drip(socket)
    expectTimeout(await answer)
  })

  test('that never begins is answered 408 and closed', async () => {
    expectTimeout(await (await (await server({ headersMs: 100 })).open()).answer)
  })

  test('whose body does not come in time is answered 408 and closed', async () => {
    const { socket, answer } = await (await server({ headersMs: 100, requestMs: 200 })).open()
    socket.write(`${post('/echo', 60_000)}\r\n{"slow":"`)
    drip(socket)
    expectTimeout(await answer)
  })

  test('that is no HTTP is answered as a problem and closed', async () => {
    const { socket, answer } = await (await server()).open()
    socket.write('hello\r\n\r\n')
    const text = await answer
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(JSON.parse(text.split('\r\n\r\n')[1]!)).toMatchObject({ status: 400, code: 'INVALID_REQUEST' })
  })

  test('with more headers than we read is answered 431', async () => {
    const { socket, answer } = await (await server()).open()
    socket.write(`${post('/echo')}x-long: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 431 /)
  })
})

describe('before its body is read', () => {
  test.each([
    ['a path that leads nowhere', '/nowhere', 404],
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

test('an event whose sender is not known yet has less time for its body', async () => {
  const { socket, answer } = await (await server({ eventBodyMs: 100, events: SET_UP })).open()
  socket.write(`${post('/webhooks/resend', 900_000)}\r\n{`)
  drip(socket)
  expectTimeout(await answer)
})

test('without other limits a request has 30 s, its headers 10 s, and a process 8192 connections', async () => {
  const { server } = baseApp({ log: pino({ level: 'silent' }), trustProxy: false })
  const { requestTimeout, headersTimeout, maxConnections } = server
  expect({ requestTimeout, headersTimeout, maxConnections }).toEqual({
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    maxConnections: 8_192,
  })
})

test('connections above the limit are closed at once, and a free place is taken again', async () => {
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
    })
    .toBe('HTTP/1.1 404')
})
