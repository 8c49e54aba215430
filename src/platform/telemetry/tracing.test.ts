import { pino } from 'pino'
import { expect, test } from 'vitest'
import { startCollector } from '../../../test/support/otlp-collector.ts'
import { NO_TRACING, readTraceparent, startTracing } from './tracing.ts'

const TRACE_ID = 'ab'.repeat(16)
const SPAN_ID = 'cd'.repeat(8)
const log = pino({ level: 'silent' })

const settings = (endpoint: string | undefined, share = 1, sampler: 'parentbased_traceidratio' | 'traceidratio') => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_SERVICE_NAME: 'a service',
  OTEL_TRACES_SAMPLER: sampler,
  OTEL_TRACES_SAMPLER_ARG: share,
})

test('a traceparent is read as the W3C writes it, and nothing else is', () => {
  expect(readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({ traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 })
  const wrong = [
    '',
    `00-${TRACE_ID}-${SPAN_ID}`,
    `01-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-01\n`,
    `00-${TRACE_ID}-${SPAN_ID}-1`,
    'x'.repeat(100_000),
  ]
  for (const text of wrong) expect(readTraceparent(text), text.slice(0, 80)).toBeNull()
})

test('without an endpoint nothing is traced', async () => {
  const tracing = await startTracing(settings(undefined, 1, 'parentbased_traceidratio'), '1', log)
  expect(tracing).toBe(NO_TRACING)
  expect(tracing.begin('a request', `00-${TRACE_ID}-${SPAN_ID}-01`)).toBeNull()
  const result = await tracing.traced(
    'claim',
    `00-${TRACE_ID}-${SPAN_ID}-01`,
    async own => ({ own }),
    () => ({ lane: 'direct' }),
  )
  expect(result).toEqual({ own: null })
})

test('parentbased follows the caller; traceidratio keeps its trace, and decides itself', async context => {
  const collector = await startCollector()
  context.onTestFinished(() => collector.close())
  const begun = async (share: number, sampler: 'parentbased_traceidratio' | 'traceidratio', caller?: string) => {
    const tracing = await startTracing(settings(collector.url, share, sampler), '1', log)
    const span = tracing.begin('a request', caller)
    span?.end({}, false)
    await tracing.stop()
    return span?.traceparent.slice(3, 35) ?? null
  }
  const sampled = `00-${TRACE_ID}-${SPAN_ID}-01`
  const unsampled = `00-${TRACE_ID}-${SPAN_ID}-00`
  expect(await begun(0, 'parentbased_traceidratio', sampled)).toBe(TRACE_ID)
  expect(await begun(1, 'parentbased_traceidratio', unsampled)).toBeNull()
  expect(await begun(0, 'traceidratio', sampled)).toBeNull()
  expect(await begun(1, 'traceidratio', unsampled)).toBe(TRACE_ID)
  expect(await begun(0, 'parentbased_traceidratio')).toBeNull()
  expect(await begun(1, 'parentbased_traceidratio', 'not a traceparent')).toMatch(/^[0-9a-f]{32}$/)
  expect(collector.spans).toHaveLength(3)
})

test('work that throws ends its span, and its error goes on', async context => {
  const collector = await startCollector()
  context.onTestFinished(() => collector.close())
  const tracing = await startTracing(settings(collector.url, 1, 'parentbased_traceidratio'), '1', log)
  const failing = async () => {
    throw new TypeError('maria@example.com')
  }
  const describe = () => ({ outboxId: 'o', outcome: 'sent' })
  await expect(tracing.traced('settle', `00-${TRACE_ID}-${SPAN_ID}-01`, failing, describe)).rejects.toThrow(TypeError)
  await tracing.stop()
  expect(collector.spans).toMatchObject([
    { name: 'settle', parentSpanId: SPAN_ID, attributes: { errorName: 'TypeError' } },
  ])
  expect(collector.text()).not.toContain('maria')
})
