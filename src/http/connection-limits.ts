import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough, pipeline } from 'node:stream'
import type { FastifyHttpOptions, preParsingAsyncHookHandler } from 'fastify'
import { PROBLEM_TYPE, Problem, problemBody } from './problem.ts'

export type ConnectionLimits = {
  /** From the connection, or the end of the request before it, to the last header. Only what they say decides whether a body is read. */
  headersMs: number
  /** To the last byte of the body, headers included. */
  requestMs: number
  /** For a body whose sender is known by its signature only, that is, when it is there. */
  eventBodyMs: number
  checkEveryMs: number
  /** At once in this process; one more is closed unread. */
  connections: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  eventBodyMs: 10_000,
  checkEveryMs: 1_000,
  connections: 8_192,
}

/** What of it Node does by itself. */
export function serverOptions({ headersMs, requestMs, checkEveryMs }: ConnectionLimits) {
  return {
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkEveryMs },
    clientErrorHandler: answerClientError,
  } satisfies FastifyHttpOptions<Server>
}

/** What never became a request, or not a whole one: there is no reply to answer with. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const problem = problemOf(error)
  const body = JSON.stringify(problemBody(problem, randomUUID()))
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'Connection: close',
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Not end(): whoever drips bytes would never close its side.
  socket.destroy(error)
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('REQUEST_TIMEOUT')
  return new Problem(code === 'HPE_HEADER_OVERFLOW' ? 'HEADERS_TOO_LARGE' : 'INVALID_REQUEST')
}

/** A hook for after the headers: a body that is not there in time ends as a problem. */
export function bodyWithin(ms: number): preParsingAsyncHookHandler {
  return async function limitBodyTime(_request, _reply, payload) {
    const timed = new PassThrough()
    const timer = setTimeout(() => timed.destroy(new Problem('REQUEST_TIMEOUT')), ms)
    timed.on('close', () => clearTimeout(timer))
    pipeline(payload, timed, () => {})
    return timed
  }
}
