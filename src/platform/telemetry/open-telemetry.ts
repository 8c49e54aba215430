import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-node'
import type { Logger } from 'pino'
import { finishedWithin } from '../sleep.ts'
import { maskSensitive } from '../text/masking.ts'
import { readTraceparent, type SpanAttributes, type Step, type Tracing, type TracingSettings } from './tracing.ts'

/** One line in this time says that spans cannot be exported. */
const LOG_ERROR_EVERY_MS = 60_000
/** How long a stop waits for the last spans. */
const STOP_MS = 3_000

const KINDS: Partial<Record<Step, SpanKind>> = { 'provider call': SpanKind.CLIENT, webhook: SpanKind.CLIENT }

export type OpenTelemetrySettings = TracingSettings & { endpoint: string; version: string }

/** Spans wait in a bounded queue of the SDK and are exported in batches; when the queue is full, spans are dropped. */
export function openTelemetry(settings: OpenTelemetrySettings, log: Logger): Tracing {
  const ratio = new TraceIdRatioBasedSampler(settings.OTEL_TRACES_SAMPLER_ARG)
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.name': settings.OTEL_SERVICE_NAME,
      'service.version': settings.version,
    }),
    // Whether a trace of our own begins is decided in `begin`.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new BatchSpanProcessor(loggingFailures(exporterOf(settings), log))],
  })
  const tracer = provider.getTracer('email-gateway', settings.version)

  /** With traceidratio, the caller's trace is kept, but not its decision to sample it. */
  function callersContext(parent: NonNullable<ReturnType<typeof readTraceparent>>): Context {
    if (settings.OTEL_TRACES_SAMPLER === 'traceidratio') {
      const { decision } = ratio.shouldSample(ROOT_CONTEXT, parent.traceId)
      parent.traceFlags = decision === SamplingDecision.RECORD_AND_SAMPLED ? TraceFlags.SAMPLED : TraceFlags.NONE
    }
    return contextOf(parent)
  }

  function start(step: Step, parent: string, startTime?: number): Span {
    const kind = KINDS[step] ?? SpanKind.INTERNAL
    return tracer.startSpan(
      step,
      { kind, ...(startTime !== undefined && { startTime }) },
      contextOf(readTraceparent(parent)),
    )
  }

  return {
    isOn: true,
    begin(name, callersTraceparent) {
      const caller = callersTraceparent === undefined ? null : readTraceparent(callersTraceparent)
      // Before anything is made: most requests are not sampled.
      if (!caller && Math.random() >= settings.OTEL_TRACES_SAMPLER_ARG) return null
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, caller ? callersContext(caller) : ROOT_CONTEXT)
      if (!span.isRecording()) return null
      return { traceparent: traceparentOf(span), end: (attributes, failed) => end(span, attributes, failed) }
    },
    async traced(step, parent, work, describe) {
      if (!parent) return work(null)
      const span = start(step, parent)
      try {
        const result = await work(traceparentOf(span))
        end(span, describe(result), false)
        return result
      } catch (error) {
        end(span, { errorName: (error as Error).name }, true)
        throw error
      }
    },
    record(step, parent, startedMs, attributes) {
      if (parent) end(start(step, parent, startedMs), attributes, false)
    },
    stop: async () =>
      void (await finishedWithin(
        STOP_MS,
        provider.shutdown().catch(() => {}),
      )),
  }
}

function exporterOf({ endpoint }: OpenTelemetrySettings): OTLPTraceExporter {
  return new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
}

function loggingFailures(exporter: OTLPTraceExporter, log: Logger): SpanExporter {
  let loggedMs = Number.NEGATIVE_INFINITY
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        if (result.error && performance.now() - loggedMs > LOG_ERROR_EVERY_MS) {
          loggedMs = performance.now()
          const reason = maskSensitive(result.error.message)
          log.warn({ reason, spans: spans.length }, 'Traces could not be exported; sending goes on')
        }
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  }
}

function contextOf(parent: ReturnType<typeof readTraceparent>): Context {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
}

function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')}`
}

function end(span: Span, attributes: SpanAttributes, failed: boolean): void {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) span.setAttribute(name, value)
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}
