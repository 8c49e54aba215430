import type { FastifyReply, FastifyRequest } from 'fastify'
import { isSampled } from '../platform/telemetry/email-log.ts'
import type { RequestFigures } from '../platform/telemetry/process-figures.ts'
import { type RequestSpan, type RootAttributes, type Tracing, traceIdOf } from '../platform/telemetry/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: the request is not traced. */
    span: RequestSpan | null
  }
}

/** Logged at debug level, neither traced nor counted: probes, scrapers and open pages call these every few seconds. */
const POLLED_ROUTES = new Set(['/health/live', '/health/ready', '/metrics', '/admin/live'])

/** The route's pattern, not the URL: a query string may contain an e-mail address. */
const routeOf = (request: FastifyRequest) => request.routeOptions.url ?? '(none)'

export const isPolled = (request: FastifyRequest) => POLLED_ROUTES.has(routeOf(request))

export function beginSpan(request: FastifyRequest, tracing: Tracing): RequestSpan | null {
  if (!tracing.isOn) return null
  const route = routeOf(request)
  // The admin UI asks for its figures all the time.
  if (request.is404 || isPolled(request) || route.startsWith('/admin')) return null
  const { traceparent } = request.headers
  return tracing.begin(`${request.method} ${route}`, typeof traceparent === 'string' ? traceparent : undefined)
}

export function endSpan(request: FastifyRequest, reply: FastifyReply): void {
  const attributes: RootAttributes<'HTTP request'> = {
    'http.request.method': request.method,
    'http.route': routeOf(request),
    'http.response.status_code': reply.statusCode,
    requestId: request.id,
    companyId: request.key?.companyId,
    errorCode: request.errorCode,
  }
  request.span?.end(attributes, reply.statusCode >= 500)
}

/** For /metrics. The many routes of the admin UI and of the docs are one each, so that the series stay few. null: it is not counted. */
export function requestFigures(request: FastifyRequest, reply: FastifyReply): RequestFigures | null {
  if (isPolled(request)) return null
  const route = routeOf(request)
  return {
    method: request.is404 ? '(any)' : request.method,
    route: /^\/(admin|docs)\b/.exec(route)?.[0] ?? route,
    status: reply.statusCode,
    durationMs: reply.elapsedTime,
  }
}

export function logRequest(request: FastifyRequest, reply: FastifyReply, sample: number): void {
  const route = routeOf(request)
  const fields = {
    companyId: request.key?.companyId,
    method: request.method,
    route,
    status: reply.statusCode,
    ...(request.errorCode && { errorCode: request.errorCode }),
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
    ...(request.span && { trace_id: traceIdOf(request.span.traceparent) }),
  }
  // 501 is the answer to a call that the gateway does not offer, not a failure.
  if (reply.statusCode >= 500 && reply.statusCode !== 501) request.log.error(fields, 'Request failed')
  else if (reply.statusCode >= 400 || isSampled(request.id, sample))
    request.log[isPolled(request) ? 'debug' : 'info'](fields, 'Request')
}
