import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { DatabaseUnavailable, refusalOf } from '../platform/postgres/errors.ts'
import { type FieldProblem, RECIPIENT_SUPPRESSED_MESSAGE, type Refusal } from '../platform/text/refusal.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Code of the problem in the answer, for the request log. */
    errorCode: ProblemCode | null
  }
}

/** Every error code of the API with its status and title. Errors become HTTP answers in this file only. */
const PROBLEMS = {
  INVALID_JSON: [400, 'The body is not valid JSON'],
  INVALID_REQUEST: [400, 'The request is not valid'],
  INVALID_IDEMPOTENCY_KEY: [400, 'The Idempotency-Key header must have 1 to 256 printable characters'],
  INVALID_EVENT: [400, 'The body is not a valid event of this provider'],
  UNAUTHENTICATED: [401, 'A valid API key is required'],
  ADMIN_UNAUTHENTICATED: [401, 'Sign in with the name and password of an administrator'],
  SIGN_IN_LINK_INVALID: [401, 'This sign-in link was used already, has expired, or is not whole'],
  METRICS_UNAUTHENTICATED: [401, 'The metrics need the token of METRICS_TOKEN'],
  EVENT_UNAUTHENTICATED: [401, 'Raw messages need the password of the subscription'],
  INSUFFICIENT_SCOPE: [403, 'This API key does not have the required scope'],
  INSUFFICIENT_ROLE: [403, "The administrator's role does not allow this"],
  FROM_NOT_ALLOWED: [403, 'The sender is not allowed for this company'],
  RECIPIENT_SUPPRESSED: [403, RECIPIENT_SUPPRESSED_MESSAGE],
  COMPLAINT_NOT_REMOVABLE: [403, 'Cannot remove complaint suppressions (LGPD compliance)'],
  CROSS_SITE_REQUEST: [403, 'This request was made by a page of another site'],
  EVENT_REFUSED: [403, 'The event is not authentic, or not for this gateway'],
  NOT_SUPPRESSED: [404, 'The address is not on the suppression list'],
  NOT_FOUND: [404, 'Not found'],
  METHOD_NOT_ALLOWED: [405, 'This path does not take this method'],
  REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
  IDEMPOTENCY_KEY_REUSED: [409, 'This Idempotency-Key was used with another body'],
  IDEMPOTENCY_IN_PROGRESS: [409, 'A request with this Idempotency-Key is still running'],
  ALREADY_ENDED: [409, 'The bulk action has ended'],
  DOMAIN_TAKEN: [409, 'Another company sends from this domain'],
  DOMAIN_LIMIT_REACHED: [409, 'The company has the maximum number of domains'],
  DOMAIN_IN_USE: [409, 'The default sender of the company is of this domain: an administrator has to change it first'],
  COMPANY_EXISTS: [409, 'There is a company of this name'],
  SQL_ACCESS_UNSAFE: [409, 'The database is not safe to share with a role of a company'],
  NOT_PAUSED: [409, 'The company is not paused'],
  PAUSED_BY_REPUTATION: [409, 'The company is paused already, for its reputation'],
  PROVIDER_NOT_PARKED: [409, 'The provider is not parked, so there is nothing to try'],
  ALREADY_STARTED: [409, 'The e-mail has been started or has ended'],
  EMAIL_LOCKED: [409, 'Another change of this e-mail is under way; try again'],
  NOT_ENDED: [409, 'Only an e-mail that has ended can be sent again'],
  API_KEY_LIMIT_REACHED: [409, 'The company has the maximum number of API keys'],
  WEBHOOK_LIMIT_REACHED: [409, 'The company has the maximum number of webhook endpoints'],
  TEMPLATE_EXISTS: [409, 'The company has a template of this type and locale'],
  TEMPLATE_LIMIT_REACHED: [409, 'The company has the maximum number of templates'],
  TEMPLATE_IS_STARTER: [409, 'This template is a starter and cannot be changed'],
  NOTHING_TO_PUBLISH: [409, 'The template has no such draft or version'],
  WEBHOOK_DISABLED: [409, 'The webhook endpoint is disabled'],
  CONTENT_GONE: [410, 'The content or the recipient of the e-mail was erased'],
  BODY_TOO_LARGE: [413, 'The body is too large'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body must be application/json'],
  INVALID_PAYLOAD: [422, 'Some fields are not valid'],
  INVALID_EMAIL: [422, 'An address is not valid'],
  INVALID_TEMPLATE: [422, 'The content is not allowed'],
  TEMPLATE_NOT_FOUND: [422, 'There is no published template of this type'],
  TEMPLATE_VARIABLE_MISSING: [422, 'The template needs variables that are missing'],
  RECIPIENT_NOT_FOUND: [422, 'The recipient does not exist'],
  RATE_LIMITED: [429, 'The company has reached its rate limit'],
  TOO_MANY_LOGINS: [429, 'Too many failed or concurrent logins'],
  HEADERS_TOO_LARGE: [431, 'The headers are too large'],
  INTERNAL_ERROR: [500, 'Internal server error'],
  NOT_OFFERED: [501, 'The gateway does not offer this'],
  SERVER_BUSY: [503, 'The server is receiving too much data at once; repeat the request'],
  PROVIDER_NOT_ASKED: [
    503,
    'The provider could not be asked; repeat the request. The log of the gateway has the reason',
  ],
  EVENTS_NOT_SET_UP: [503, 'Events of this provider are not set up'],
  EVENT_NOT_CHECKED: [503, 'The event could not be checked now'],
  SUBSCRIPTION_NOT_CONFIRMED: [503, 'The subscription could not be confirmed'],
  DATABASE_UNAVAILABLE: [503, 'The database does not answer; repeat the request with the same Idempotency-Key'],
} as const satisfies Record<string, readonly [number, string]>

export type ProblemCode = keyof typeof PROBLEMS

export type ProblemExtras = {
  detail?: string
  errors?: FieldProblem[]
  recipient?: string
  headers?: Record<string, string>
}

/** Thrown by routes and what they call for them: other modules return outcomes as values. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ProblemCode
  readonly extras: ProblemExtras

  constructor(code: ProblemCode, extras: ProblemExtras = {}) {
    super(PROBLEMS[code][1])
    this.code = code
    this.extras = extras
  }

  get status(): number {
    return PROBLEMS[this.code][0]
  }
}

/** What is wrong with one field. Each has words in both languages of the admin UI. */
export function invalidField(path: string, message: string, code: FieldCode): Problem {
  return invalidFields([{ path, code, message }])
}

export type FieldCode =
  | 'INVALID_TYPE'
  | 'INVALID_VALUE'
  | 'INVALID_FORMAT'
  | 'INVALID_CHARACTERS'
  | 'INVALID_CURSOR'
  | 'INVALID_EMAIL'
  | 'INVALID_WEBHOOK_URL'
  | 'FROM_NOT_ALLOWED'
  | 'NOT_TOGETHER'
  | 'RANGE_REVERSED'

export const invalidFields = (errors: FieldProblem[]) => new Problem('INVALID_PAYLOAD', { errors })

export function refusalProblem(refusal: Refusal): Problem {
  if (refusal.code === 'RECIPIENT_SUPPRESSED') return new Problem(refusal.code, { recipient: refusal.recipient })
  return new Problem(refusal.code, { errors: refusal.errors })
}

export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.errorCode = problem.code
  const { headers = {} } = problem.extras
  // Refused while the body is still arriving: close the connection instead of reading the rest.
  if (!request.raw.complete) reply.header('connection', 'close')
  const body = problemBody(problem, request.id)
  return reply.code(body.status).headers(headers).type(PROBLEM_TYPE).serializer(JSON.stringify).send(body)
}

export const PROBLEM_TYPE = 'application/problem+json'

export function problemBody({ code, extras }: Problem, requestId: string) {
  const { detail, errors, recipient } = extras
  const [status, title] = PROBLEMS[code]
  const message = detail ?? withFirstError(title, errors)
  return { type: 'about:blank', title, status, code, message, detail, requestId, errors, recipient }
}

/** Some clients show `message` only: "Some fields are not valid: subject: is required". */
function withFirstError(title: string, [first]: FieldProblem[] = []): string {
  if (!first) return title
  return first.path === '' ? `${title}: ${first.message}` : `${title}: ${first.path}: ${first.message}`
}

const DATABASE_REFUSALS = { 'disk-full': 'The disk of the database is full', 'read-only': 'The database is read-only' }

function databaseProblem(refusal: keyof typeof DATABASE_REFUSALS | null): Problem {
  const detail = refusal && `${DATABASE_REFUSALS[refusal]}; repeat the request with the same Idempotency-Key`
  return new Problem('DATABASE_UNAVAILABLE', { headers: { 'retry-after': '1' }, ...(detail && { detail }) })
}

/** Translates errors of Fastify, a lost database, and bugs. */
export function toProblem(error: unknown, { routeOptions }: Pick<FastifyRequest, 'routeOptions'>): Problem {
  if (error instanceof Problem) return error
  if (error instanceof DatabaseUnavailable) return databaseProblem(refusalOf(error))
  switch ((error as FastifyError).code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return bodyTooLarge(routeOptions.bodyLimit)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('UNSUPPORTED_MEDIA_TYPE')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
      return new Problem('INVALID_REQUEST')
    default:
      return fromStatus((error as FastifyError).statusCode)
  }
}

function bodyTooLarge(limitBytes: number): Problem {
  const kilobytes = Math.floor(limitBytes / 1024)
  const limit = kilobytes < 1024 ? `${kilobytes} KB` : `${kilobytes / 1024} MB`
  return new Problem('BODY_TOO_LARGE', { detail: `The body is too large: it may have at most ${limit}` })
}

/** Other errors of Fastify and its plugins, such as a parameter that is too long. A 4xx stays a 4xx. */
function fromStatus(status = 500): Problem {
  if (status === 403 || status === 404 || status === 414) return new Problem('NOT_FOUND')
  return status >= 400 && status < 500 ? new Problem('INVALID_REQUEST') : new Problem('INTERNAL_ERROR')
}
