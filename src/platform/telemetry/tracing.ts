import type { Logger } from 'pino'

/** The steps of an e-mail that have a span, and the attributes of each. docs/logs.md describes them; a test compares. */
export const STEP_ATTRIBUTES = {
  accept: ['companyId', 'emails', 'outcome'],
  claim: ['lane'],
  attempt: ['outboxId', 'companyId', 'attempt', 'provider', 'outcome', 'errorCode'],
  'provider call': ['provider', 'attemptId', 'outcome'],
  settle: ['outboxId', 'outcome'],
  feedback: ['outboxId', 'companyId', 'event'],
  webhook: ['companyId', 'outboxId', 'webhookId', 'deliveryId', 'type', 'attempt', 'status', 'errorCode', 'outcome'],
} as const satisfies Record<string, readonly string[]>
export type Step = keyof typeof STEP_ATTRIBUTES

/** The spans that begin a trace, or go on with that of the caller. That of a request is named by its method and route. */
export const ROOT_ATTRIBUTES = {
  'HTTP request': [
    'http.request.method',
    'http.route',
    'http.response.status_code',
    'requestId',
    'companyId',
    'errorCode',
  ],
  'SMTP message': ['requestId', 'companyId', 'reply'],
  'SQL e-mail': ['requestId', 'companyId', 'outboxId'],
} as const satisfies Record<string, readonly string[]>

type Value = string | number | boolean | null | undefined
/** Ids, names, numbers and codes; nothing personal. */
export type SpanAttributes = Record<string, Value>
export type RootAttributes<Name extends keyof typeof ROOT_ATTRIBUTES> = Record<
  (typeof ROOT_ATTRIBUTES)[Name][number],
  Value
>
type StepAttributes<Name extends Step> = Record<(typeof STEP_ATTRIBUTES)[Name][number], Value>

/** The span of a request, until its answer is sent. `traceparent` names it for the spans below. */
export type RequestSpan = { traceparent: string; end(attributes: SpanAttributes, failed: boolean): void }

/** Spans of OpenTelemetry. A parent is named by its W3C traceparent; without one, nothing is recorded. */
export type Tracing = {
  isOn: boolean
  /** Begins the span of a request, below the caller's if it names one. null: this request is not sampled. */
  begin(name: string, callersTraceparent?: string): RequestSpan | null
  /** Does the work within a span. It gets the traceparent of that span, or null. */
  traced<T, Name extends Step>(
    step: Name,
    parent: string | null | undefined,
    work: (own: string | null) => Promise<T>,
    describe: (result: T) => StepAttributes<Name>,
  ): Promise<T>
  /** A span of work that ends now. */
  record<Name extends Step>(
    step: Name,
    parent: string | null | undefined,
    startedMs: number,
    attributes: StepAttributes<Name>,
  ): void
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
