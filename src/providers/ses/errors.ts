import { type ErrorRow, errorRule, type Refinement, rulesByReportedCode } from '../errors/rules.ts'

/**
 * The names of the published contract first, then the names of the SES v2 API and of AWS in general. Errors about quota, a paused
 * account or credentials park the provider, because the next e-mail would fail in the same way.
 */
export const SES_ERRORS: readonly ErrorRow[] = [
  ['MessageRejected', 'SES_MESSAGE_REJECTED', 'PERMANENT_ERROR', 'final'],
  ['MailFromDomainNotVerified', 'SES_MAIL_FROM_DOMAIN_NOT_VERIFIED', 'CONFIGURATION_ERROR', 'final'],
  ['ConfigurationSetDoesNotExist', 'SES_CONFIGURATION_SET_DOES_NOT_EXIST', 'CONFIGURATION_ERROR', 'final'],
  ['AccountSendingPausedException', 'SES_ACCOUNT_SENDING_PAUSED', 'PERMANENT_ERROR', 'final-parked'],
  ['Throttling', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['MaxSendRateExceeded', 'SES_MAX_SEND_RATE_EXCEEDED', 'QUOTA_ERROR', 'retry-slower'],
  ['DailyQuotaExceeded', 'SES_DAILY_QUOTA_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'],
  ['ServiceUnavailable', 'SES_SERVICE_UNAVAILABLE', 'TRANSIENT_ERROR', 'retry'],
  ['RequestTimeout', 'SES_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['NetworkingError', 'NETWORK_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous'],

  ['MailFromDomainNotVerifiedException', 'SES_MAIL_FROM_DOMAIN_NOT_VERIFIED', 'CONFIGURATION_ERROR', 'final'],
  ['ConfigurationSetDoesNotExistException', 'SES_CONFIGURATION_SET_DOES_NOT_EXIST', 'CONFIGURATION_ERROR', 'final'],
  ['ConfigurationSetSendingPausedException', 'SES_CONFIGURATION_SET_PAUSED', 'PERMANENT_ERROR', 'final-parked'],
  ['AccountSendingPaused', 'SES_ACCOUNT_SENDING_PAUSED', 'PERMANENT_ERROR', 'final-parked'],
  ['SendingPausedException', 'SES_ACCOUNT_SENDING_PAUSED', 'PERMANENT_ERROR', 'final-parked'],
  ['AccountSuspendedException', 'SES_ACCOUNT_SUSPENDED', 'PERMANENT_ERROR', 'final-parked'],
  ['LimitExceededException', 'SES_LIMIT_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'],
  ['TooManyRequestsException', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['ThrottlingException', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['ThrottledException', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['RequestThrottled', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['RequestThrottledException', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['RequestLimitExceeded', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['SlowDown', 'SES_THROTTLING', 'QUOTA_ERROR', 'retry-slower'],
  ['ServiceUnavailableException', 'SES_SERVICE_UNAVAILABLE', 'TRANSIENT_ERROR', 'retry'],
  ['InternalFailure', 'SES_INTERNAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['InternalError', 'SES_INTERNAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['InternalServerError', 'SES_INTERNAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['InternalServiceError', 'SES_INTERNAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['InternalServiceErrorException', 'SES_INTERNAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['ConcurrentModificationException', 'SES_CONFLICT', 'TRANSIENT_ERROR', 'retry'],
  ['ConflictException', 'SES_CONFLICT', 'TRANSIENT_ERROR', 'retry'],
  ['RequestTimeoutException', 'SES_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],

  ['BadRequestException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['ValidationError', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['ValidationException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['SerializationException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['InvalidParameterValue', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['InvalidParameterCombination', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['InvalidQueryParameter', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['MalformedQueryString', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['MissingParameter', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['MissingAction', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['InvalidAction', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['UnknownOperationException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['InvalidNextTokenException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['AlreadyExistsException', 'SES_BAD_REQUEST', 'VALIDATION_ERROR', 'final'],
  ['NotFoundException', 'SES_NOT_FOUND', 'CONFIGURATION_ERROR', 'final'],
  ['TemplateDoesNotExistException', 'SES_NOT_FOUND', 'CONFIGURATION_ERROR', 'final'],

  ['AccessDenied', 'SES_ACCESS_DENIED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['AccessDeniedException', 'SES_ACCESS_DENIED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['NotAuthorized', 'SES_ACCESS_DENIED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['OptInRequired', 'SES_ACCESS_DENIED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['InvalidClientTokenId', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['InvalidAccessKeyId', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['UnrecognizedClientException', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['SignatureDoesNotMatch', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['InvalidSignatureException', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['IncompleteSignature', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['IncompleteSignatureException', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['MissingAuthenticationToken', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['MissingAuthenticationTokenException', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['CredentialsProviderError', 'SES_INVALID_CREDENTIALS', 'CONFIGURATION_ERROR', 'final-parked'],
  ['ExpiredToken', 'SES_EXPIRED_CREDENTIALS', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['ExpiredTokenException', 'SES_EXPIRED_CREDENTIALS', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['TokenRefreshRequired', 'SES_EXPIRED_CREDENTIALS', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['RequestExpired', 'SES_CLOCK_SKEW', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['RequestTimeTooSkewed', 'SES_CLOCK_SKEW', 'CONFIGURATION_ERROR', 'retry-parked'],
]

export const SES_REFINEMENTS: readonly Refinement[] = [
  {
    reportedCodes: ['Throttling', 'ThrottlingException', 'TooManyRequestsException'],
    message: /daily (?:message|sending) quota/i,
    rule: errorRule('SES_DAILY_QUOTA_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'),
  },
  {
    reportedCodes: ['MessageRejected'],
    message: /sending (?:paused|suspended) for this account/i,
    rule: errorRule('SES_ACCOUNT_SENDING_PAUSED', 'PERMANENT_ERROR', 'final-parked'),
  },
  {
    reportedCodes: ['NotFoundException', 'BadRequestException'],
    message: /configuration set/i,
    rule: errorRule('SES_CONFIGURATION_SET_DOES_NOT_EXIST', 'CONFIGURATION_ERROR', 'final'),
  },
]

export const SES_RULES = rulesByReportedCode(SES_ERRORS)
