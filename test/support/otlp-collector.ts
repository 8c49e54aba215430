import { type FakeServer, readBody, serve } from './fake-http.ts'

export type CollectedSpan = {
  service: string
  name: string
  traceId: string
  spanId: string
  /** Empty for a root. */
  parentSpanId: string
  startMs: number
  endMs: number
  attributes: Record<string, unknown>
}

export type Collector = FakeServer & {
  spans: CollectedSpan[]
  /** Every body that came, as text. */
  text: () => string
  /** What it answers from now on; 200 at first. */
  answers: (status: number) => void
}

type Value = { stringValue?: string; intValue?: number; boolValue?: boolean; doubleValue?: number }
type Attribute = { key: string; value: Value }
type OtlpSpan = {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
}
type OtlpBody = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[]
}

/** A collector that takes OTLP over HTTP as JSON, and keeps the spans. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const texts: string[] = []
  let status = 200
  const server = await serve(async (request, response) => {
    const text = await readBody(request)
    if (status === 200 && request.url === '/v1/traces') {
      texts.push(text)
      spans.push(...readSpans(JSON.parse(text)))
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  return {
    ...server,
    spans,
    text: () => texts.join('\n'),
    answers(next) {
      status = next
    },
  }
}

function readSpans({ resourceSpans }: OtlpBody): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(readAttributes(resource.attributes)['service.name'])
    return scopeSpans
      .flatMap(scope => scope.spans)
      .map(span => ({
        service,
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        attributes: readAttributes(span.attributes),
      }))
  })
}

const readAttributes = (attributes: Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
