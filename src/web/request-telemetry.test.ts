import { expect, test } from 'vitest'
import { makeLog } from '../platform/telemetry/log.ts'
import { NO_TRACING, type RequestSpan, type Tracing } from '../platform/telemetry/tracing.ts'
import { baseApp } from './server.ts'

function appWith({ logSample = 1, tracing = NO_TRACING }: { logSample?: number; tracing?: Tracing }) {
  const lines: string[] = []
  const log = makeLog({ level: 'info', pretty: false, destination: { write: line => void lines.push(line) } })
  const app = baseApp({ log, trustProxy: false, logSample, tracing })
  app.get('/v1/fine/:name', async () => ({}))
  app.get('/admin/live', async () => ({}))
  app.get('/admin/emails', async () => ({}))
  app.get('/health/live', async () => ({}))
  app.get('/v1/broken', async () => {
    throw new Error('broken')
  })
  return { app, lines: () => lines.map(line => JSON.parse(line)) }
}

test('with LOG_SAMPLE=0 requests that succeed are not logged, and those that fail are', async () => {
  const { app, lines } = appWith({ logSample: 0 })
  for (const url of ['/v1/fine/maria', '/nothing', '/v1/broken']) await app.inject(url)
  expect(lines().map(({ message, status }) => [message, status])).toEqual([
    ['Request', 404],
    ['Request failed', undefined],
    ['Request failed', 500],
  ])
})

test('a request that is traced names its trace; health checks and the admin UI are not traced, and what is polled is not logged', async () => {
  const begun: unknown[] = []
  const ended: unknown[] = []
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
  const span: RequestSpan = { traceparent, end: (attributes, failed) => void ended.push({ ...attributes, failed }) }
  const tracing: Tracing = {
    ...NO_TRACING,
    isOn: true,
    begin(name, caller) {
      begun.push([name, caller])
      return span
    },
  }
  const { app, lines } = appWith({ tracing })
  for (const url of ['/v1/fine/maria', '/admin/emails', '/admin/live', '/health/live', '/nothing', '/v1/broken'])
    await app.inject({ url, headers: url === '/v1/broken' ? {} : { traceparent: 'of the caller' } })
  expect(begun).toEqual([
    ['GET /v1/fine/:name', 'of the caller'],
    ['GET /v1/broken', undefined],
  ])
  expect(ended).toMatchObject([
    { 'http.route': '/v1/fine/:name', 'http.response.status_code': 200, failed: false },
    { 'http.response.status_code': 500, errorCode: 'INTERNAL_ERROR', failed: true },
  ])
  const [fine, admin, ...others] = lines().filter(({ status }) => status === 200)
  expect(fine).toMatchObject({ route: '/v1/fine/:name', trace_id: 'ab'.repeat(16) })
  expect(admin).toMatchObject({ route: '/admin/emails' })
  expect(admin).not.toHaveProperty('trace_id')
  expect(others).toEqual([])
})
