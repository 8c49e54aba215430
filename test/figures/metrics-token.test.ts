import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

const TOKEN = 'a-token-for-prometheus'

describe('with METRICS_TOKEN', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ role: 'api', env: { METRICS_TOKEN: TOKEN } })
  })
  afterAll(() => gateway.stop())
  const ask = (headers: Record<string, string>) => gateway.call(null, 'GET', '/metrics', undefined, headers)

  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['another token', { authorization: 'Bearer another-token-of-somebody' }],
    ['its beginning', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
    ['more than it', { authorization: `Bearer ${TOKEN}x` }],
    ['it as a password', { authorization: `Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}` }],
    ['it without its scheme', { authorization: TOKEN }],
  ])('%s opens no metrics', async (_what, headers) => {
    const answer = await ask(headers)
    expect(answer).toMatchObject({ status: 401, body: { code: 'METRICS_UNAUTHENTICATED' } })
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })

  test('it opens them, and the health checks stay open', async () => {
    expect(await ask({ authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 })
    expect(await ask({ authorization: `bearer  ${TOKEN}` })).toMatchObject({ status: 200 })
    expect(await gateway.call(null, 'GET', '/health/ready')).toMatchObject({ status: 200 })
  })
})

test('without one, everybody may read them', async () => {
  const gateway = await startTestGateway({ role: 'api' })
  expect(await gateway.call(null, 'GET', '/metrics')).toMatchObject({ status: 200 })
  await gateway.stop()
})
