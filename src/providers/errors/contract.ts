import { PROVIDER_NAMES } from '../../settings/settings.ts'
import { parseSmtpReply, SMTP_CLASS_RULES, SMTP_ENHANCED_RULES, SMTP_REPLY_RULES, smtpRule } from '../smtp/errors.ts'
import { codeOf, HTTP_STATUS_RULES, REFINEMENTS, RULES_BY_CODE, ruleForHttpStatus, ruleForName } from './classify.ts'
import { type ErrorRule, errorRule } from './rules.ts'

/** Part of the published contract. */
export const RETRYABLE_ERRORS = ['421', '450', '451', '452', 'Throttling', 'ServiceUnavailable'] as const

/** Part of the published contract. */
export const PERMANENT_ERRORS = ['500', '550', '554', 'MessageRejected', 'MailFromDomainNotVerified'] as const

/** Errors that the gateway itself detects. */
export const GATEWAY_ERRORS = {
  INVALID_PAYLOAD: errorRule('INVALID_PAYLOAD', 'VALIDATION_ERROR', 'final'),
  OUTBOX_NOT_FOUND: errorRule('OUTBOX_NOT_FOUND', 'VALIDATION_ERROR', 'final'),
  RECIPIENT_NOT_FOUND: errorRule('RECIPIENT_NOT_FOUND', 'VALIDATION_ERROR', 'final'),
  INVALID_EMAIL: errorRule('INVALID_EMAIL', 'VALIDATION_ERROR', 'final'),
  FROM_NOT_ALLOWED: errorRule('FROM_NOT_ALLOWED', 'VALIDATION_ERROR', 'final'),
  INVALID_TEMPLATE: errorRule('INVALID_TEMPLATE', 'VALIDATION_ERROR', 'final'),
  TEMPLATE_NOT_FOUND: errorRule('TEMPLATE_NOT_FOUND', 'VALIDATION_ERROR', 'final'),
  TEMPLATE_VARIABLE_MISSING: errorRule('TEMPLATE_VARIABLE_MISSING', 'VALIDATION_ERROR', 'final'),
  RECIPIENT_SUPPRESSED: errorRule('RECIPIENT_SUPPRESSED', 'PERMANENT_ERROR', 'final'),
  SEND_OUTCOME_UNKNOWN: errorRule('SEND_OUTCOME_UNKNOWN', 'TIMEOUT_ERROR', 'final-ambiguous'),
  EXPIRED: errorRule('EXPIRED', 'TIMEOUT_ERROR', 'final'),
  ATTEMPTS_EXHAUSTED: errorRule('ATTEMPTS_EXHAUSTED', 'PERMANENT_ERROR', 'final'),
} as const
/** What an application says of an attempt (`mark_email_failed`). */
const MARKED_AS_FAILED = errorRule('MARKED_AS_FAILED', 'TRANSIENT_ERROR', 'retry')

export type GatewayErrorCode = keyof typeof GATEWAY_ERRORS

/**
 * Accepts codes of providers, libraries, SMTP servers and the gateway itself. Three digits are an SMTP reply, not an HTTP status. An
 * unknown code is retried, because a few extra attempts cost less than a lost e-mail. Without a code there is no error to retry.
 */
export function isRetryableError(errorCode: string | undefined): boolean {
  if (!errorCode) return false
  if ((RETRYABLE_ERRORS as readonly string[]).includes(errorCode)) return true
  if ((PERMANENT_ERRORS as readonly string[]).includes(errorCode)) return false
  const rule = ruleForName(errorCode) ?? ruleForOwnCode(errorCode) ?? smtpRule(parseSmtpReply(errorCode) ?? {})
  return rule?.retryable ?? true
}

const RULE_TABLES = [
  ...[...RULES_BY_CODE, HTTP_STATUS_RULES],
  ...[SMTP_REPLY_RULES, SMTP_ENHANCED_RULES, SMTP_CLASS_RULES],
]

/** The gateway's code of every rule, for every provider. */
const OWN_CODES: ReadonlyMap<string, ErrorRule> = new Map(
  [
    ...RULE_TABLES.flatMap(table => [...table.values()]),
    ...REFINEMENTS.map(({ rule }) => rule),
    ...Object.values(GATEWAY_ERRORS),
    MARKED_AS_FAILED,
  ].flatMap(rule => PROVIDER_NAMES.map(provider => [codeOf(rule, provider), rule])),
)

function ruleForOwnCode(code: string): ErrorRule | undefined {
  const statusCode = /_HTTP_(\d{3})$/.exec(code)?.[1]
  return statusCode ? ruleForHttpStatus(Number(statusCode)) : OWN_CODES.get(code)
}

/** From provider events about messages that the provider had accepted. */
const REPORTED = ['REJECT', 'RENDERING_FAILURE'] as const

/** For a lost worker, and for a provider whose account is paused. */
const OBSERVED = ['WORKER_LOST', 'PROVIDER_PAUSED'] as const

/** Every error code of the gateway except `…_HTTP_<status>`. */
export const ERROR_CODES: readonly string[] = [...new Set([...OWN_CODES.keys(), ...REPORTED, ...OBSERVED])].sort()

/** own: an error code of the gateway. provider: a code of a provider, a library or an SMTP server that is in the tables. */
export function vocabularyOf(code: string): 'own' | 'provider' | null {
  if (ERROR_CODES.includes(code) || ruleForOwnCode(code)) return 'own'
  const isReply = /^[45](\d\d|\.\d{1,3}\.\d{1,3})( [45]\.\d{1,3}\.\d{1,3})?$/.test(code)
  return ruleForName(code) || (isReply && smtpRule(parseSmtpReply(code) ?? {})) ? 'provider' : null
}
