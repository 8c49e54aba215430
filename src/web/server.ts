import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { RequestFigures } from '../platform/telemetry/process-figures.ts'
import { NO_TRACING, type Tracing } from '../platform/telemetry/tracing.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { acceptJson, MAX_PARAM_LENGTH, SMALL_BODY_LIMIT } from './body.ts'
import { CONNECTION_LIMITS, type ConnectionLimits, serverOptions } from './connection-limits.ts'
import { Problem, sendProblem, toProblem } from './problem.ts'
import { beginSpan, endSpan, logRequest, requestFigures } from './request-telemetry.ts'
import { validatorCompiler } from './validation.ts'

export type App = FastifyInstance

const VALID_REQUEST_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** HTML pages replace the content-security-policy by their own. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

export type BaseDeps = {
  log: FastifyBaseLogger
  /** The share of ordinary requests that is logged. */
  logSample?: number
  tracing?: Tracing
  /** Counts an answered request for /metrics. */
  onAnswered?: (request: RequestFigures) => void
  trustProxy: boolean
  limits?: ConnectionLimits
  /** How errors are answered that no route has met yet, such as a path that is too long. */
  refuse?: typeof sendProblem
}

/** Everything but the routes. The benchmarks build their echo server on it (bench/servers/echo.ts). */
export function baseApp(deps: BaseDeps): App {
  const {
    log,
    logSample = 1,
    tracing = NO_TRACING,
    onAnswered,
    trustProxy,
    limits = CONNECTION_LIMITS,
    refuse = sendProblem,
  } = deps
  const app = Fastify({
    ...serverOptions(limits),
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    // Only the last entry of X-Forwarded-For is from our proxy; the client can write the ones before it.
    trustProxy: trustProxy && ((_address, hop) => hop === 0),
    bodyLimit: SMALL_BODY_LIMIT,
    genReqId: request => requestIdOf(request.headers['x-request-id']),
    requestIdHeader: false,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      const headers = { ...SECURITY_HEADERS, 'x-request-id': request.id }
      void refuse(toProblem(error, request), request, reply.headers(headers))
    },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // Given here and not by setters, so that Fastify does not load its own compilers. Answers are checked by types and tests, so they
    // are not validated again at run time.
    schemaController: {
      compilersFactory: {
        buildValidator: () => validatorCompiler as never,
        buildSerializer: () => () => JSON.stringify,
      },
    },
  }).withTypeProvider<ZodTypeProvider>() as unknown as App
  app.server.maxConnections = limits.connections
  app.decorateRequest('principal', null)
  app.decorateRequest('key', null)
  app.decorateRequest('admin', null)
  app.decorateRequest('adminRole', null)
  app.decorateRequest('adminSession', null)
  app.decorateRequest('errorCode', null)
  app.decorateRequest('span', null)
  acceptJson(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id)
    request.span = beginSpan(request, tracing)
    // Refused here, before the body is read.
    done(request.is404 ? noSuchPath(request) : undefined)
  })
  app.addHook('onResponse', (request, reply, done) => {
    endSpan(request, reply)
    logRequest(request, reply, logSample)
    const figures = requestFigures(request, reply)
    if (figures) onAnswered?.(figures)
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request)
    if (problem.code === 'INTERNAL_ERROR') request.log.error({ err: error }, 'Request failed')
    return sendProblem(problem, request, reply)
  })
  app.setNotFoundHandler((request, reply) => sendProblem(noSuchPath(request), request, reply))
  return app
}

/** Unlike a path whose id does not exist. */
const noSuchPath = ({ method }: { method: string }) =>
  new Problem('NOT_FOUND', { detail: `There is no such path for ${method}; /docs lists them all.` })

function requestIdOf(header: string | string[] | undefined): string {
  if (typeof header !== 'string' || !VALID_REQUEST_ID.test(header)) return randomUUID()
  // The id is written to logs, rows and events, so it must not contain personal data such as a CPF.
  return maskSensitive(header) === header ? header : randomUUID()
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

type Methods = Map<string, Set<string>>

/** Called before the routes of this scope: returns the methods of each path, once the routes are there. */
export function collectMethods(app: App): Methods {
  const methods: Methods = new Map()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), ...[method].flat()]))
  })
  return methods
}

/**
 * Called after the routes of the native API: a known path with another method is 405, before the key and the body are looked at. Routes of
 * their own, because GET /v1/email/send would otherwise ask for the e-mail with the id "send".
 */
export function refuseOtherMethods(app: App, methods: Methods): void {
  for (const [url, taken] of [...methods]) {
    if (!url.startsWith('/v1/')) continue
    const allowed = [...taken].sort().join(', ')
    app.route({
      method: METHODS.filter(one => !taken.has(one)),
      url,
      schema: { hide: true },
      onRequest: async ({ method }) => {
        const detail = `${url} does not take ${method}; it takes ${allowed}.`
        throw new Problem('METHOD_NOT_ALLOWED', { detail, headers: { allow: allowed } })
      },
      handler: () => {
        throw new Error('the onRequest hook refuses every request')
      },
    })
  }
}
