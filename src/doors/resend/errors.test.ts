import { expect, test } from 'vitest'
import { invalidField, Problem, type ProblemCode } from '../../web/problem.ts'
import { toResendError } from './errors.ts'

test.each<[ProblemCode, number, string]>([
  ['INVALID_IDEMPOTENCY_KEY', 400, 'invalid_idempotency_key'],
  ['INVALID_JSON', 400, 'validation_error'],
  ['UNAUTHENTICATED', 403, 'invalid_api_key'],
  ['INSUFFICIENT_SCOPE', 401, 'restricted_api_key'],
  ['RECIPIENT_SUPPRESSED', 403, 'validation_error'],
  ['COMPLAINT_NOT_REMOVABLE', 403, 'validation_error'],
  ['NOT_FOUND', 404, 'not_found'],
  ['NOT_SUPPRESSED', 404, 'not_found'],
  ['IDEMPOTENCY_KEY_REUSED', 409, 'invalid_idempotent_request'],
  ['IDEMPOTENCY_IN_PROGRESS', 409, 'concurrent_idempotent_requests'],
  ['BODY_TOO_LARGE', 413, 'validation_error'],
  ['ALREADY_STARTED', 422, 'validation_error'],
  ['RATE_LIMITED', 429, 'rate_limit_exceeded'],
  ['INTERNAL_ERROR', 500, 'internal_server_error'],
  ['NOT_OFFERED', 501, 'application_error'],
  ['DATABASE_UNAVAILABLE', 503, 'application_error'],
])('%s is %i %s', (code, statusCode, name) => {
  const message = 'In these words'
  expect(toResendError(new Problem(code, { detail: message }), true)).toEqual({ statusCode, name, message })
})

test('a request without a key misses it', () => {
  const error = toResendError(new Problem('UNAUTHENTICATED'), false)
  expect(error).toMatchObject({ statusCode: 401, name: 'missing_api_key' })
})

test.each([
  ['from', 'must have an @', 'invalid_from_address', 'The `from` field must have an @.'],
  ['[3].from', 'must have an @', 'invalid_from_address', 'The `[3].from` field must have an @.'],
  ['attachments[0].path', 'is not offered', 'invalid_attachment', 'The `attachments[0].path` field is not offered.'],
  ['[0].to', 'is required', 'missing_required_field', 'Missing `[0].to` field.'],
  ['', 'must be an array', 'validation_error', 'The body must be an array.'],
])('the field "%s" that %s is an error with the name %s', (path, problem, name, message) => {
  expect(toResendError(invalidField(path, problem, 'INVALID_VALUE'), true)).toEqual({ statusCode: 422, name, message })
})
