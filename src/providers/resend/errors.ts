import { type ErrorRow, errorRule, type Refinement, rulesByReportedCode } from '../errors/rules.ts'

/** Every error name of Resend's API. The two idempotency conflicts mean that an earlier request did arrive. */
export const RESEND_ERRORS: readonly ErrorRow[] = [
  ['invalid_idempotency_key', 'RESEND_INVALID_IDEMPOTENCY_KEY', 'VALIDATION_ERROR', 'final'],
  ['validation_error', 'RESEND_VALIDATION_ERROR', 'VALIDATION_ERROR', 'final'],
  ['missing_api_key', 'RESEND_MISSING_API_KEY', 'CONFIGURATION_ERROR', 'final-parked'],
  ['restricted_api_key', 'RESEND_RESTRICTED_API_KEY', 'CONFIGURATION_ERROR', 'final-parked'],
  ['invalid_api_key', 'RESEND_INVALID_API_KEY', 'CONFIGURATION_ERROR', 'final-parked'],
  ['not_found', 'RESEND_NOT_FOUND', 'CONFIGURATION_ERROR', 'final'],
  ['method_not_allowed', 'RESEND_METHOD_NOT_ALLOWED', 'CONFIGURATION_ERROR', 'final'],
  ['invalid_idempotent_request', 'RESEND_INVALID_IDEMPOTENT_REQUEST', 'PERMANENT_ERROR', 'final-ambiguous'],
  ['concurrent_idempotent_requests', 'RESEND_CONCURRENT_IDEMPOTENT_REQUESTS', 'TRANSIENT_ERROR', 'retry-ambiguous'],
  ['invalid_attachment', 'RESEND_INVALID_ATTACHMENT', 'VALIDATION_ERROR', 'final'],
  ['invalid_from_address', 'RESEND_INVALID_FROM_ADDRESS', 'VALIDATION_ERROR', 'final'],
  ['invalid_access', 'RESEND_INVALID_ACCESS', 'VALIDATION_ERROR', 'final'],
  ['invalid_parameter', 'RESEND_INVALID_PARAMETER', 'VALIDATION_ERROR', 'final'],
  ['invalid_region', 'RESEND_INVALID_REGION', 'VALIDATION_ERROR', 'final'],
  ['missing_required_field', 'RESEND_MISSING_REQUIRED_FIELD', 'VALIDATION_ERROR', 'final'],
  ['monthly_quota_exceeded', 'RESEND_MONTHLY_QUOTA_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'],
  ['daily_quota_exceeded', 'RESEND_DAILY_QUOTA_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'],
  ['rate_limit_exceeded', 'RESEND_RATE_LIMIT_EXCEEDED', 'QUOTA_ERROR', 'retry-slower'],
  ['security_error', 'RESEND_SECURITY_ERROR', 'PERMANENT_ERROR', 'final'],
  ['application_error', 'RESEND_APPLICATION_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['internal_server_error', 'RESEND_INTERNAL_SERVER_ERROR', 'TRANSIENT_ERROR', 'retry'],
]

export const RESEND_REFINEMENTS: readonly Refinement[] = [
  {
    reportedCodes: ['validation_error'],
    message: /domain is not verified|verify a domain/i,
    rule: errorRule('RESEND_DOMAIN_NOT_VERIFIED', 'CONFIGURATION_ERROR', 'final'),
  },
  {
    // The SDK reports a lost connection under this name, with the status null.
    reportedCodes: ['application_error'],
    message: /unable to fetch data/i,
    rule: errorRule('NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'),
  },
]

export const RESEND_RULES = rulesByReportedCode(RESEND_ERRORS)
