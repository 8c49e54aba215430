import type { Logger } from 'pino'

/** The steps of an e-mail that have a span. docs/logs.md describes them. */
export type Step = 'accept' | 'claim' | 'attempt' | 'provider call' | 'settle' | 'feedback' | 'webhook'

/** Ids, names, numbers and codes; nothing personal. */
export type SpanAttributes = Record<string, string | number | boolean | null | undefined>

/** The span of a request, until its answer is sent. `traceparent` names it for the spans below. */
export type RequestSpan = { traceparent: string; end(attributes: SpanAttributes, failed: boolean): void }

/** Spans of OpenTelemetry. A parent is named by its W3C traceparent; without one, nothing is recorded. */
export type Tracing = {
  isOn: boolean
  /** Begins the span of a request, below the caller's if it names one. null: this request is not sampled. */
  begin(name: string, callersTraceparent?: string): RequestSpan | null
  /** Does the work within a span. It gets the traceparent of that span, or null. */
  traced<T>(
    step: Step,
    parent: string | null | undefined,
    work: (own: string | null) => Promise<T>,
    describe: (result: T) => SpanAttributes,
  ): Promise<T>
  /** A span of work that ends now. */
  record(step: Step, parent: string | null | undefined, startedMs: number, attributes: SpanAttributes): void
  /** Exports what is left, within a limit. */
  stop(): Promise<void>
}

export const NO_TRACING: Tracing = {
  isOn: false,
  begin: () => null,
  traced: (_step, _parent, work) => work(null),
  record: () => {},
  stop: async () => {},
}

export type TracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_SERVICE_NAME: string
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' | 'traceidratio'
  OTEL_TRACES_SAMPLER_ARG: number
}

/** Off unless an endpoint is set. OpenTelemetry is loaded only then. */
export async function startTracing(settings: TracingSettings, version: string, log: Logger): Promise<Tracing> {
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return NO_TRACING
  const { openTelemetry } = await import('./open-telemetry.ts')
  return openTelemetry({ ...settings, endpoint, version }, log)
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** null: not a valid traceparent of version 00 (https://www.w3.org/TR/trace-context/). */
export function readTraceparent(text: string): { traceId: string; spanId: string; traceFlags: number } | null {
  const match = TRACEPARENT.exec(text)
  return match ? { traceId: match[1]!, spanId: match[2]!, traceFlags: Number.parseInt(match[3]!, 16) } : null
}

/** Of one of our own. */
export const traceIdOf = (traceparent: string) => traceparent.slice(3, 35)
