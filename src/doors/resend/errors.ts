import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MAX_PARAM_LENGTH } from '../../web/body.ts'
import { Problem, type ProblemCode, problemBody, toProblem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'

/** The names of the SDK that the gateway uses. */
const ERROR_NAMES = [
  'application_error',
  'concurrent_idempotent_requests',
  'internal_server_error',
  'invalid_api_key',
  'invalid_attachment',
  'invalid_from_address',
  'invalid_idempotency_key',
  'invalid_idempotent_request',
  'missing_api_key',
  'missing_required_field',
  'not_found',
  'rate_limit_exceeded',
  'restricted_api_key',
  'validation_error',
] as const
type ErrorName = (typeof ERROR_NAMES)[number]

/** Status and name by code, as Resend documents them (https://resend.com/docs/api-reference/errors). */
const ERRORS: Partial<Record<ProblemCode, readonly [number, ErrorName]>> = {
  INVALID_IDEMPOTENCY_KEY: [400, 'invalid_idempotency_key'],
  UNAUTHENTICATED: [403, 'invalid_api_key'],
  INSUFFICIENT_SCOPE: [401, 'restricted_api_key'],
  IDEMPOTENCY_KEY_REUSED: [409, 'invalid_idempotent_request'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'concurrent_idempotent_requests'],
  NOT_FOUND: [404, 'not_found'],
  NOT_SUPPRESSED: [404, 'not_found'],
  ALREADY_STARTED: [422, 'validation_error'],
  EMAIL_LOCKED: [422, 'validation_error'],
  RATE_LIMITED: [429, 'rate_limit_exceeded'],
}

const errorSchema = z
  .object({ statusCode: z.int(), name: z.enum(ERROR_NAMES), message: z.string() })
  .meta({ id: 'ResendError' })
type ResendError = z.output<typeof errorSchema>

/** For the OpenAPI document: the statuses with which a route refuses, beside those of a missing or wrong key. */
export const resendRefusals = (...statuses: number[]): Record<number, typeof errorSchema> =>
  Object.fromEntries([401, 403, ...statuses].map(status => [status, errorSchema]))

/** Every error of this scope is answered in Resend's form. The SDK passes it on unchanged. */
export function answerInResendForm(app: App): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error, request)
    if (problem.code === 'INTERNAL_ERROR') request.log.error({ err: error }, 'Request failed')
    return sendResendError(problem, request, reply)
  })
}

export function sendResendError(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.errorCode = problem.code
  // Refused while the body is still arriving: close the connection instead of reading the rest.
  if (!request.raw.complete) reply.header('connection', 'close')
  const error = toResendError(problem, hasCredentials(request))
  return reply
    .code(error.statusCode)
    .headers(problem.extras.headers ?? {})
    .type('application/json')
    .serializer(JSON.stringify)
    .send(error)
}

export function toResendError(problem: Problem, withKey: boolean): ResendError {
  const { message } = problemBody(problem, '')
  if (problem.code === 'UNAUTHENTICATED' && !withKey) {
    return { statusCode: 401, name: 'missing_api_key', message: 'Missing API key in the authorization header.' }
  }
  const [first] = problem.extras.errors ?? []
  if (first) return fieldError(problem, first)
  const [statusCode, name] = ERRORS[problem.code] ?? [problem.status, nameOf(problem.status)]
  return { statusCode, name, message }
}

/** The message names every wrong field; the name of the error says what is wrong with the first. */
function fieldError(problem: Problem, first: { path: string; message: string }): ResendError {
  const errors = problem.extras.errors ?? []
  const message = errors.map(fieldSentence).join(' ')
  return { statusCode: problem.status, name: fieldErrorName(problem, first), message }
}

/** Begins like the second half of a sentence about the field; other messages are sentences of their own. */
const SAYS_WHAT = /^(?:is|are|has|have|must|cannot|needs|contains|or) /

function fieldSentence({ path, message }: { path: string; message: string }): string {
  if (message === 'is required') return `Missing \`${path}\` field.`
  const field = path === '' ? 'The body' : `The \`${path}\` field`
  return SAYS_WHAT.test(message)
    ? `${field} ${message}.`
    : `${field} is not valid: ${message.replace(/^The /, 'the ')}.`
}

function fieldErrorName({ code }: Problem, { path, message }: { path: string; message: string }): ErrorName {
  if (code === 'FROM_NOT_ALLOWED') return 'validation_error'
  const field = path.replace(/^\[\d+\]\.?/, '')
  if (field.startsWith('attachments')) return 'invalid_attachment'
  if (message === 'is required') return 'missing_required_field'
  return field === 'from' ? 'invalid_from_address' : 'validation_error'
}

function nameOf(status: number): ErrorName {
  if (status === 500) return 'internal_server_error'
  return status >= 500 ? 'application_error' : 'validation_error'
}

function hasCredentials({ headers }: FastifyRequest): boolean {
  return headers['x-api-key'] !== undefined || headers.authorization !== undefined
}

const NO_CONTACTS = 'The gateway sends transactional e-mail and keeps no contacts.'
const NO_RECEIVING = 'The gateway receives no e-mail.'
const EVENTS = 'The events of an e-mail are at GET /v1/email/:outboxId.'
const FIGURES = 'The figures of the gateway are at GET /metrics.'

/** Every path of the SDK, and what there is instead of the calls below it that are not offered. */
const INSTEAD: Readonly<Record<string, string>> = {
  '/api-keys': 'Make a new key and revoke the old one.',
  '/audiences': NO_CONTACTS,
  '/automations': 'The gateway runs no automations.',
  '/broadcasts': 'POST /emails/batch takes up to 100 e-mails.',
  '/contact-properties': NO_CONTACTS,
  '/contacts': NO_CONTACTS,
  '/domains':
    'Domains can be added, read, verified and removed; the gateway tracks nothing, and TLS is up to the provider.',
  '/emails': 'The native routes of an e-mail are below /v1/email.',
  '/emails/metrics': FIGURES,
  '/emails/receiving': NO_RECEIVING,
  '/events': EVENTS,
  '/inboxes': NO_RECEIVING,
  '/logs': EVENTS,
  '/oauth': 'The gateway knows API keys only.',
  '/segments': NO_CONTACTS,
  '/suppressions':
    'The gateway holds hashes of addresses and cannot list them. GET /suppressions/:email and POST /v1/suppression/check answer for one address; DELETE /suppressions/:email removes one.',
  '/templates': 'The native routes of templates are below /v1/templates.',
  '/topics': NO_CONTACTS,
  '/usage': FIGURES,
  '/webhooks': 'Every delivery with its last attempt is at GET /v1/webhooks/:id/deliveries.',
}

/** For a URL that cannot be decoded, and so belongs to no route. */
export const isResendPath = (url: string) => Object.hasOwn(INSTEAD, `/${url.split(/[/?]/, 2)[1]}`)

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Called after the other routes of this scope: takes the methods and paths that they have left. */
export function resendNotOfferedRoutes(app: App): void {
  for (const [path, instead] of Object.entries(INSTEAD)) {
    for (const url of [path, `${path}/*`]) {
      const method = METHODS.filter(one => !app.hasRoute({ url, method: one }))
      app.route({ method, url, onRequest: refuse(instead), schema: { hide: true }, handler: unreachable })
    }
  }
}

/** Before the body is read. */
function refuse(instead: string) {
  return async ({ params }: FastifyRequest): Promise<void> => {
    // An id that is too long for the other routes arrives here.
    const rest = (params as { '*'?: string })['*'] ?? ''
    if (rest.split('/').some(part => part.length > MAX_PARAM_LENGTH)) throw new Problem('NOT_FOUND')
    throw new Problem('NOT_OFFERED', { detail: `The gateway does not offer this call of the Resend API. ${instead}` })
  }
}

function unreachable(): never {
  throw new Error('the onRequest hook refuses every request')
}
