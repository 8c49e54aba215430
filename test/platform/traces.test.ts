import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ROOT_ATTRIBUTES, STEP_ATTRIBUTES } from '../../src/platform/telemetry/tracing.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk, untilStatus } from '../support/mail.ts'
import { type CollectedSpan, type Collector, startCollector } from '../support/otlp-collector.ts'
import { atCleanUp, cleanUp, launchGateway } from '../support/process.ts'
import { startRedis } from '../support/redis-server.ts'
import { SHARED_SECRETS } from '../support/secrets.ts'
import { smtpClient } from '../support/smtp-client.ts'
import { comeDue, type Receiver, register, startReceiver } from '../support/webhook-receiver.ts'
import { startWorker, type TestWorker } from '../support/worker.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLERS_SPAN = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE_ID}-${CALLERS_SPAN}-01`
const OUR_TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/
/** A person whose address must not be in a span. */
const TO = 'delivered+maria@simulator.test'

/** Spans that are recorded when they have ended take their times from another clock. */
const CLOCKS_MS = 100

let collector: Collector
let receiver: Receiver
let api: TestGateway
let worker: TestWorker
let company: TestCompany

/** One process accepts, another one sends. Only what the caller samples is traced. */
beforeAll(async () => {
  // Of the SDK: milliseconds until a batch of spans is exported.
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '50')
  collector = await startCollector()
  receiver = await startReceiver()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_TRACES_SAMPLER_ARG: '0' }
  api = await startTestGateway({
    role: 'api',
    env: { ...env, OTEL_SERVICE_NAME: 'gateway-api', SMTP_INGRESS_PORT: '0', WEBHOOK_ALLOW_PRIVATE: 'true' },
  })
  worker = await startWorker(api, { ...env, OTEL_SERVICE_NAME: 'gateway-worker', WEBHOOK_ALLOW_PRIVATE: 'true' })
  company = await api.company()
})
afterAll(async () => {
  await worker?.stop()
  await cleanUp()
  await api?.stop()
  await collector?.close()
  await receiver?.close()
  vi.unstubAllEnvs()
})

/** The first answer, then always the other. */
function once<T>(first: T, then: T): () => T {
  let asked = 0
  return () => (asked++ === 0 ? first : then)
}

const traceparentOf = async (outboxId: string) =>
  (await rows(api, 'select traceparent from email_outbox where outbox_id = $1', [outboxId]))[0].traceparent

test('an e-mail is one trace, from the request of the caller to the webhook, across processes', async () => {
  await register(api, company, `${receiver.url}/hook`, { eventTypes: ['email.sent', 'email.delivered'] })
  // The first delivery fails: its retry is in the trace, too.
  const isFirst = once(true, false)
  receiver.answer('/hook', (response, { headers }) =>
    response.writeHead(headers.traceparent && isFirst() ? 503 : 204).end(),
  )
  const traced = await sendOk(api, company, { to: TO }, { traceparent: SAMPLED, 'x-request-id': 'traced-request' })
  const untraced = await sendOk(api, company)
  const unsampled = await sendOk(api, company, {}, { traceparent: SAMPLED.replace(/01$/, '00') })
  await untilStatus(api, company, traced, 'DELIVERED')
  for (const outboxId of [untraced, unsampled]) {
    await untilStatus(api, company, outboxId, 'SENT')
    expect(await traceparentOf(outboxId)).toBeNull()
  }
  await receiver.got('/hook', 3)
  const retries = 'select from webhook_deliveries where attempts = 1 and due_at is not null'
  await until(
    () => rows(api, retries),
    found => found.length === 1,
  )
  await comeDue(api)
  await receiver.got('/hook', 5)
  const kept = OUR_TRACEPARENT.exec(await traceparentOf(traced))!
  expect(kept[1]).toBe(TRACE_ID)

  // Stopping exports what is left.
  await worker.stop()
  await until(
    async () => collector.spans,
    spans => ['webhook', 'accept', 'POST /v1/email/send'].every(name => spans.some(span => span.name === name)),
  )
  const spans = collector.spans.splice(0)
  expect([...new Set(spans.map(({ traceId }) => traceId))]).toEqual([TRACE_ID])
  const named = (name: string) => spans.filter(span => span.name === name)
  const only = (name: string): CollectedSpan => {
    expect(named(name), name).toHaveLength(1)
    return named(name)[0]!
  }
  const request = only('POST /v1/email/send')
  const accept = only('accept')
  const attempt = only('attempt')
  expect(request).toMatchObject({ service: 'gateway-api', parentSpanId: CALLERS_SPAN })
  expect(request.attributes).toMatchObject({ requestId: 'traced-request', companyId: company.companyId })
  expect(accept).toMatchObject({ service: 'gateway-api', parentSpanId: request.spanId, spanId: kept[2] })
  for (const name of ['claim', 'attempt', 'settle'])
    expect(only(name), name).toMatchObject({ service: 'gateway-worker', parentSpanId: accept.spanId })
  expect(attempt.attributes).toMatchObject({ outboxId: traced, attempt: 1, provider: 'capture', outcome: 'sent' })
  expect(only('claim').attributes).toEqual({ lane: 'direct' })
  expect(only('provider call')).toMatchObject({ parentSpanId: attempt.spanId, attributes: { outcome: 'sent' } })
  expect(only('feedback')).toMatchObject({ parentSpanId: accept.spanId, attributes: { event: 'DELIVERED' } })
  expect(spans.filter(span => span.endMs < span.startMs)).toEqual([])
  // A claim may have begun to wait for its turn before there was anything to claim.
  const early = spans.filter(span => span.name !== 'claim' && span.startMs < request.startMs - CLOCKS_MS)
  expect(early).toEqual([])

  // The receiver gets each delivery's own span; deliveries of untraced e-mails name none.
  const webhooks = named('webhook')
  expect(webhooks.map(span => [span.parentSpanId, span.attributes.type]).toSorted()).toEqual([
    [accept.spanId, 'email.delivered'],
    [accept.spanId, 'email.sent'],
    [accept.spanId, 'email.sent'],
  ])
  const sent = receiver.at('/hook').map(({ headers }) => headers.traceparent)
  const own = webhooks.map(span => `00-${TRACE_ID}-${span.spanId}-01`)
  expect(sent.filter(value => value !== undefined).toSorted()).toEqual(own.toSorted())
  expect(sent).toHaveLength(5)

  // The lines of the e-mail name its trace; nothing personal is in a span.
  const lines = (api.logs() + worker.logs()).split('\n').filter(line => line.includes(`"outboxId":"${traced}"`))
  const ofEmail = lines.map(line => JSON.parse(line)).filter(line => line.state)
  expect(ofEmail.map(line => [line.message, line.trace_id])).toEqual(
    ['E-mail accepted', 'Attempt started', 'E-mail sent', 'E-mail delivered'].map(message => [message, TRACE_ID]),
  )
  expect(api.logs()).toMatch(new RegExp(`"requestId":"traced-request".*"trace_id":"${TRACE_ID}"`))
  expect(collector.text()).not.toMatch(/maria|simulator|@|Hello/i)
})

test('on the BullMQ lane, in a process of its own, an e-mail of a request and one of SQL are a trace each', async () => {
  const redis = await startRedis()
  atCleanUp(() => redis.close())
  const process = launchGateway({
    role: 'worker',
    env: {
      ...SHARED_SECRETS,
      ...{ DATABASE_URL: api.databaseUrl, REDIS_URL: redis.url, WEBHOOK_ALLOW_PRIVATE: 'true' },
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_SERVICE_NAME: 'gateway-process' },
    },
  })
  const requested = await sendOk(api, company, { to: TO }, { traceparent: SAMPLED })
  const sql = `select enqueue_email(gen_random_uuid(), 'welcome_user', 'delivered+ana@simulator.test', $1) as id`
  const [{ id }] = await rows(api, sql, [{ user_data: { full_name: 'Ana' } }])
  for (const outboxId of [requested, id]) await untilStatus(api, company, outboxId, 'DELIVERED')
  await receiver.got('/hook', 9)
  process.signal('SIGTERM')
  await process.exited
  await until(
    async () => collector.spans,
    spans => spans.some(({ name }) => name === 'accept'),
  )

  const [accept, root] = ['accept', 'SQL e-mail'].map(name => collector.spans.find(span => span.name === name)!)
  expect(accept!.traceId).toBe(TRACE_ID)
  expect(root).toMatchObject({ service: 'gateway-process', parentSpanId: '', attributes: { outboxId: id } })
  expect(await traceparentOf(id)).toBe(`00-${root!.traceId}-${root!.spanId}-01`)
  for (const { traceId, spanId } of [accept!, root!]) {
    const below = collector.spans.filter(span => span.traceId === traceId && span.service === 'gateway-process')
    const steps = below.filter(span => span.parentSpanId === spanId).map(span => span.name)
    expect(steps.toSorted()).toEqual(['attempt', 'claim', 'feedback', 'settle', 'webhook', 'webhook'])
    expect(below.find(span => span.name === 'claim')!.attributes).toEqual({ lane: 'bullmq' })
  }
  // What docs/logs.md names is all there is.
  const known: Record<string, readonly string[]> = { ...ROOT_ATTRIBUTES, ...STEP_ATTRIBUTES }
  for (const { name, attributes } of collector.spans)
    expect(known[name] ?? ROOT_ATTRIBUTES['HTTP request'], name).toEqual(
      expect.arrayContaining(Object.keys(attributes)),
    )
  expect(collector.text()).not.toMatch(/\bana\b|simulator|@/i)
})

test('a collector that is away disturbs nothing, and is mentioned once', async context => {
  const away = await startCollector()
  away.answers(400)
  const gateway = await startTestGateway({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: away.url, SMTP_INGRESS_PORT: '0' } })
  context.onTestFinished(() => away.close())
  const owner = await gateway.company()
  const ids = await Promise.all([sendOk(gateway, owner), sendOk(gateway, owner)])
  for (const outboxId of ids) await untilStatus(gateway, owner, outboxId, 'SENT')
  const client = await smtpClient(gateway.smtpPort!)
  await client.logIn(owner.apiKey)
  await client.send(
    ['maria@example.com'],
    'From: gateway@localhost.localdomain\r\nTo: maria@example.com\r\nSubject: Hi\r\n\r\nHi',
  )
  client.socket.destroy()
  const traces = await rows(gateway, 'select traceparent from email_outbox')
  expect(traces.map(({ traceparent }) => OUR_TRACEPARENT.test(traceparent))).toEqual([true, true, true])
  await gateway.stop()
  expect(gateway.logs().match(/Traces could not be exported/g)).toHaveLength(1)
})
