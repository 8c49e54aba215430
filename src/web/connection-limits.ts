import { randomUUID } from 'node:crypto'
import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { PassThrough, pipeline } from 'node:stream'
import type { FastifyHttpOptions, preParsingAsyncHookHandler } from 'fastify'
import { PROBLEM_TYPE, Problem, problemBody } from './problem.ts'

export type ConnectionLimits = {
  /** From the connection, or the end of the previous request, to the last header. */
  headersMs: number
  /** From the same moment to the last byte of the body. */
  requestMs: number
  /** Body of a provider event, whose signature can be checked only when all of it has arrived. */
  eventBodyMs: number
  checkEveryMs: number
  /** Open connections of this process; further ones are closed unread. */
  connections: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  eventBodyMs: 10_000,
  checkEveryMs: 1_000,
  connections: 8_192,
}

/** The limits that Node enforces itself. */
export function serverOptions({ headersMs, requestMs, checkEveryMs }: ConnectionLimits) {
  return {
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkEveryMs },
    clientErrorHandler: answerClientError,
  } satisfies FastifyHttpOptions<Server>
}

/** For errors before Fastify has a request, such as invalid HTTP or headers that time out: there is no reply object. */
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
  // destroy, not end: a client that goes on sending single bytes would keep its side open.
  socket.destroy(error)
}

function problemOf({ code }: NodeJS.ErrnoException): Problem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('REQUEST_TIMEOUT')
  return new Problem(code === 'HPE_HEADER_OVERFLOW' ? 'HEADERS_TOO_LARGE' : 'INVALID_REQUEST')
}

/** Answers 408 when the body has not arrived in time. */
export function bodyWithin(ms: number): preParsingAsyncHookHandler {
  return async function limitBodyTime(_request, _reply, payload) {
    const timed = new PassThrough()
    const timer = setTimeout(() => timed.destroy(new Problem('REQUEST_TIMEOUT')), ms)
    timed.on('close', () => clearTimeout(timer))
    // Fastify does not read the body of a request that it refuses: an error that nobody listens for would end the process.
    timed.on('error', () => {})
    pipeline(payload, timed, () => clearTimeout(timer))
    return timed
  }
}
