import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { type FakeServer, readBody, serve } from '../../test/support/fake-http.ts'
import { makePoster } from './request.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const one of undo.splice(0).reverse()) await one()
})

/** A server that answers like this. */
async function receiver(answer: (response: ServerResponse, nth: number) => unknown): Promise<FakeServer> {
  let asked = 0
  const server = await serve(async (request, response) => {
    await readBody(request)
    await answer(response, ++asked)
  })
  undo.push(() => server.close())
  return server
}

function poster(timeoutMs = 400) {
  const made = makePoster({
    resolve: async () => [{ address: '127.0.0.1', family: 4 as const }],
    allowPrivate: true,
    timeoutMs,
  })
  undo.push(() => made.close())
  return made
}

describe('a receiver that', () => {
  test('never answers is given up in time', async () => {
    const { url } = await receiver(() => {})
    const posted = await poster().post(url, {}, '{}')
    expect(posted).toMatchObject({ status: null, error: 'TIMEOUT' })
    expect(posted.durationMs).toBeGreaterThanOrEqual(390)
    expect(posted.durationMs).toBeLessThan(2_000)
  })

  test('sends its answer byte by byte is given up in time, whatever status it began with', async () => {
    const { url } = await receiver(response => {
      response.writeHead(200)
      const dripping = setInterval(() => response.write('x'), 20)
      response.on('close', () => clearInterval(dripping))
    })
    expect(await poster().post(url, {}, '{}')).toMatchObject({ error: 'TIMEOUT' })
  })

  test('sends an endless answer is read up to 64 KB, and its status counts', async () => {
    let written = 0
    const { url } = await receiver(response => {
      response.writeHead(200)
      const flood = () => {
        while (!response.destroyed && response.write('x'.repeat(16 * 1024))) written += 16 * 1024
      }
      response.on('drain', flood)
      flood()
    })
    const posted = await poster(5_000).post(url, {}, '{}')
    expect(posted).toMatchObject({ status: 200, error: null })
    expect(posted.answer).toHaveLength(1024)
    expect(posted.durationMs).toBeLessThan(4_000)
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test('sends endless headers is refused', async () => {
    const { url } = await receiver(response => {
      response.socket!.end(`HTTP/1.1 200 OK\r\n${'x-more: and more\r\n'.repeat(10_000)}\r\n`)
    })
    expect(await poster().post(url, {}, '{}')).toMatchObject({ status: null, error: 'HPE_HEADER_OVERFLOW' })
  })

  test.each(['Connection: Upgrade\r\nUpgrade: websocket\r\n', ''])(
    'switches protocols (%j) has not accepted it, and its connection is closed',
    async headers => {
      let closed: Promise<unknown> | undefined
      const { url } = await receiver(response => {
        closed = once(response.socket!.resume(), 'close')
        response.socket!.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`)
      })
      const posted = await poster(60_000).post(url, {}, '{}')
      expect(posted).toMatchObject({ status: 101, error: 'UPGRADE_NOT_SUPPORTED' })
      await closed
    },
  )

  test('sends interim answers without end is given up after some of them', async () => {
    const { url } = await receiver(response => {
      const storm = () => {
        while (!response.socket?.destroyed && response.socket?.write('HTTP/1.1 102 Processing\r\n\r\n'));
      }
      response.socket!.on('drain', storm)
      storm()
    })
    expect(await poster(60_000).post(url, {}, '{}')).toMatchObject({ status: null, error: 'TOO_MANY_INTERIM_ANSWERS' })
  })

  test('sends 100 and 103 first is read to its final answer', async () => {
    const { url } = await receiver(response => {
      response.writeContinue()
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(204).end()
    })
    expect(await poster(60_000).post(url, {}, '{}')).toMatchObject({ status: 204, error: null })
  })

  test('sends its headers byte by byte is given up in time', async () => {
    const { url } = await receiver(response => {
      const { socket } = response
      socket!.write('HTTP/1.1 200 OK\r\nx-slow: ')
      const dripping = setInterval(() => socket!.write('x'), 20)
      socket!.on('close', () => clearInterval(dripping))
    })
    expect(await poster().post(url, {}, '{}')).toMatchObject({ status: null, error: 'TIMEOUT' })
  })

  test('closes the connection without an answer has not accepted it', async () => {
    const { url } = await receiver(response => response.socket!.end())
    expect(await poster(60_000).post(url, {}, '{}')).toMatchObject({ status: null, error: 'ECONNRESET' })
  })

  test('closes in the middle of its answer has not accepted it', async () => {
    const { url } = await receiver(response => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    })
    const posted = await poster().post(url, {}, '{}')
    expect(posted).toMatchObject({ status: 200, error: expect.stringMatching(/ECONNRESET|aborted/) })
  })

  test('has closed an idle connection gets the request again at once, over a new one', async () => {
    const { url } = await receiver((response, nth) => {
      if (nth === 2) response.socket!.resetAndDestroy()
      else response.writeHead(200).end()
    })
    const { post } = poster(2_000)
    expect(await post(url, {}, '{}')).toMatchObject({ status: 200 })
    expect(await post(url, {}, '{}')).toMatchObject({ status: 200, error: null })
  })

  test('does not listen gives ECONNREFUSED', async () => {
    const server = await receiver(() => {})
    await server.close()
    expect(await poster().post(server.url, {}, '{}')).toMatchObject({ status: null, error: 'ECONNREFUSED' })
  })

  test('has no name in the DNS gives ENOTFOUND', async () => {
    const { post } = makePoster({
      resolve: async () => {
        throw Object.assign(new Error('no'), { code: 'ENOTFOUND' })
      },
      allowPrivate: false,
    })
    expect(await post('https://hooks.example.com/', {}, '{}')).toMatchObject({ status: null, error: 'ENOTFOUND' })
  })

  test('has a name that hangs in the DNS is given up in time', async () => {
    const { post } = makePoster({ resolve: () => new Promise(() => {}), allowPrivate: false, timeoutMs: 300 })
    expect(await post('https://hooks.example.com/', {}, '{}')).toMatchObject({ status: null, error: 'TIMEOUT' })
  })

  test('sends Retry-After is tried again after that time', async () => {
    const { url } = await receiver(response => response.writeHead(503, { 'retry-after': '7' }).end())
    expect(await poster().post(url, {}, '{}')).toMatchObject({ status: 503, retryAfterMs: 7_000, error: null })
  })
})
