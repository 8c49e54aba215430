import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makePoster } from '../../src/webhooks/request.ts'
import { serve } from '../support/fake-http.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { FORBIDDEN_IPV4, FORBIDDEN_IPV6, trickyTargets } from '../support/tricky-targets.ts'

let canary: Server
let port: number
let visitors = 0

beforeAll(async () => {
  canary = createServer(socket => {
    visitors++
    socket.destroy()
  })
  // Both families of the loopback.
  await new Promise<void>(resolve => canary.listen(0, '::', () => resolve()))
  port = (canary.address() as { port: number }).port
})
afterAll(() => new Promise(resolve => canary.close(resolve)))

const familyOf = (address: string) => (address.includes(':') ? (6 as const) : (4 as const))
const resolvingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map(address => ({ address, family: familyOf(address) }))

describe('a delivery', () => {
  test('to any of two hundred tricky targets makes no connection', async () => {
    const targets = trickyTargets(port)
    expect(targets.length).toBeGreaterThanOrEqual(200)
    // Every name leads home, so that whatever slips through the first check is caught at the connection.
    const poster = makePoster({ resolve: resolvingTo('127.0.0.1'), allowPrivate: false, timeoutMs: 2_000 })
    for (const target of targets) {
      const posted = await poster.post(target, {}, '{}')
      expect(posted, target).toMatchObject({ status: null, error: expect.stringMatching(/^FORBIDDEN_(URL|ADDRESS)/) })
    }
    poster.close()
    expect(visitors).toBe(0)
  })

  test('to a public name that resolves to any special address makes no connection', async () => {
    for (const address of [...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6]) {
      const poster = makePoster({ resolve: resolvingTo(address), allowPrivate: false, timeoutMs: 2_000 })
      const posted = await poster.post(`https://hooks.example.com:${port}/`, {}, '{}')
      expect(posted, address).toMatchObject({ status: null, error: expect.stringMatching(/^FORBIDDEN_ADDRESS/) })
      poster.close()
    }
    expect(visitors).toBe(0)
  })

  test('to a name of which one address is private makes no connection, in whichever place that stands', async () => {
    for (const addresses of [
      ['1.1.1.1', '127.0.0.1'],
      ['127.0.0.1', '1.1.1.1'],
      ['2606:4700:4700::1111', '::1'],
      ['1.1.1.1', '::ffff:127.0.0.1'],
    ]) {
      const poster = makePoster({ resolve: resolvingTo(...addresses), allowPrivate: false, timeoutMs: 2_000 })
      expect(await poster.post(`https://hooks.example.com:${port}/`, {}, '{}')).toMatchObject({
        error: expect.stringMatching(/^FORBIDDEN_ADDRESS/),
      })
      poster.close()
    }
    expect(visitors).toBe(0)
  })

  test('goes to the very address that was checked: a name that changes is not asked again', async () => {
    const requested: string[] = []
    const receiver = await serve(async (request, response) => {
      requested.push(request.url!)
      // The connection is not kept, so the next delivery connects, and checks, anew.
      response.writeHead(200, { connection: 'close' }).end()
    })
    const answers = ['127.0.0.1', '169.254.169.254']
    let asked = 0
    const resolve = async () => [{ address: answers[asked++]!, family: 4 as const }]
    const poster = makePoster({ resolve, allowPrivate: true, timeoutMs: 2_000 })
    const url = receiver.url.replace('127.0.0.1', 'rebinding.example')
    expect(await poster.post(`${url}/first`, {}, '{}')).toMatchObject({ status: 200 })
    expect(asked).toBe(1)
    expect(await poster.post(`${url}/second`, {}, '{}')).toMatchObject({
      status: null,
      error: expect.stringMatching(/^FORBIDDEN_ADDRESS/),
    })
    expect(requested).toEqual(['/first'])
    poster.close()
    await receiver.close()
  })

  test('does not use a proxy of the environment', async () => {
    const receiver = await serve(async (_, response) => void response.writeHead(200).end())
    const before = { ...process.env }
    Object.assign(process.env, { HTTP_PROXY: `http://127.0.0.1:${port}`, http_proxy: `http://127.0.0.1:${port}` })
    const poster = makePoster({ resolve: resolvingTo('127.0.0.1'), allowPrivate: true, timeoutMs: 2_000 })
    expect(await poster.post(receiver.url, {}, '{}')).toMatchObject({ status: 200 })
    process.env = before
    poster.close()
    await receiver.close()
    expect(visitors).toBe(0)
  })
})

describe('an endpoint', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ role: 'api' })
  })
  afterAll(() => gateway.stop())

  test('at a tricky target is refused when it is registered, and when it is changed', async () => {
    const company = await gateway.company()
    const made = await gateway.call(company, 'POST', '/v1/webhooks', { url: 'https://hooks.example.com/x' })
    for (const target of trickyTargets(port)) {
      const answer = await gateway.call(company, 'POST', '/v1/webhooks', { url: target })
      expect(answer.status, target).toBe(422)
      expect(answer.body.errors[0], target).toMatchObject({ path: 'url' })
    }
    const changed = await gateway.call(company, 'PATCH', `/v1/webhooks/${made.body.id}`, { url: 'https://127.1/' })
    expect(changed).toMatchObject({ status: 422, body: { errors: [{ path: 'url', code: 'INVALID_WEBHOOK_URL' }] } })
    expect((await gateway.call(company, 'GET', '/v1/webhooks')).body.data).toHaveLength(1)
    expect(visitors).toBe(0)
  })
})
