import { maskSensitive } from '../../platform/text/masking.ts'
import type { ProviderName } from '../../settings/settings.ts'
import { RESEND_REFINEMENTS, RESEND_RULES } from '../resend/errors.ts'
import { SES_REFINEMENTS, SES_RULES } from '../ses/errors.ts'
import { parseSmtpReply, SMTP_REFINEMENTS, type SmtpReply, smtpRule } from '../smtp/errors.ts'
import { NETWORK_REFINEMENTS, NETWORK_RULES } from './network.ts'
import { type ErrorCategory, type ErrorRow, type ErrorRule, errorRule, rulesByReportedCode } from './rules.ts'

export interface ProviderError {
  provider: ProviderName
  /** `error.name`, or the name in the provider's response. */
  name?: string | undefined
  /** HTTP. */
  statusCode?: number | undefined
  /** The response has the form of the provider's own errors, so it was not made by a proxy. */
  ownForm?: boolean | undefined
  smtpCode?: number | undefined
  enhancedStatus?: string | undefined
  /** `error.code` of Node, undici or nodemailer. */
  networkCode?: string | undefined
  message?: string | undefined
}

export interface ProviderFailure {
  code: string
  category: ErrorCategory
  retryable: boolean
  openBreaker: boolean
  /** The provider limits the send rate. */
  throttled: boolean
  /** No connection could be established, so nothing was sent. */
  unconnected: boolean
  /** An SMTP server deferred it (4xx), for example by greylisting. */
  deferred: boolean
  ambiguous: boolean
  originalCode: string | null
  /** Masked, never blank. */
  message: string
}

const MESSAGE_MAX_CHARS = 1000

/** The message may have been sent, so the outcome is treated as unknown, to avoid a duplicate. */
const UNKNOWN_ERROR = errorRule('*_UNKNOWN_ERROR', 'TRANSIENT_ERROR', 'retry-ambiguous')

export function classifyProviderError(error: ProviderError): ProviderFailure {
  const found = findRule(error)
  const rule = refine(found, error.message) ?? found.rule
  const code = codeOf(rule, error.provider)
  return {
    code,
    category: rule.category,
    retryable: rule.retryable,
    openBreaker: rule.effect === 'open-breaker',
    throttled: rule.effect === 'slow-down',
    unconnected: rule.effect === 'no-connection',
    deferred: found.isReply && rule.retryable && !rule.effect,
    ambiguous: rule.ambiguous === true,
    originalCode: found.originalCode,
    message: maskSensitive(storable(error.message ?? '')) || (found.originalCode ?? code),
  }
}

/** Shortened, without NUL and lone surrogates, which Postgres cannot store. */
function storable(message: string): string {
  return message.replaceAll('\0', '').trim().slice(0, MESSAGE_MAX_CHARS).toWellFormed()
}

interface Found {
  reportedCode: string
  /** From the reply of an SMTP server. */
  isReply: boolean
  originalCode: string | null
  rule: ErrorRule
}

/** In order of reliability: the server's reply, the network error, the error name, the HTTP status. */
function findRule(error: ProviderError): Found {
  const { statusCode = 0 } = error
  const [networkCode, name] = [storable(error.networkCode ?? ''), storable(error.name ?? '')]
  const reply = smtpReplyOf(error)
  const replyRule = smtpRule(reply)
  if (replyRule) {
    return {
      reportedCode: reply.code ?? '',
      isReply: true,
      originalCode: [reply.code, reply.enhanced].filter(Boolean).join(' '),
      rule: replyRule,
    }
  }
  // A proxy may have made this response, so the error name in it proves nothing.
  const mayBeProxy = error.ownForm === false && isInconclusive(statusCode)
  for (const reportedCode of mayBeProxy ? [networkCode] : [networkCode, name]) {
    const rule = ruleForName(reportedCode)
    if (rule) return { reportedCode, isReply: false, originalCode: reportedCode, rule }
  }
  const originalCode = networkCode || name || (statusCode ? String(statusCode) : null)
  const rule = ruleForHttpStatus(statusCode, error.ownForm) ?? UNKNOWN_ERROR
  return { reportedCode: '', isReply: false, originalCode, rule }
}

/** Libraries give the reply code as a field and leave the enhanced status, or both, in the message. */
function smtpReplyOf({ provider, smtpCode, enhancedStatus, message = '' }: ProviderError): SmtpReply {
  const given = { ...(smtpCode && { code: String(smtpCode) }), ...(enhancedStatus && { enhanced: enhancedStatus }) }
  const read = provider === 'smtp' ? parseSmtpReply(message) : undefined
  return read?.code === given.code || !given.code ? { ...read, ...given } : given
}

function refine({ reportedCode }: Found, message = ''): ErrorRule | undefined {
  return REFINEMENTS.find(
    refinement => refinement.reportedCodes.includes(reportedCode) && refinement.message.test(message),
  )?.rule
}

/** By the code that a provider, a library or Node reports. A table for each provider, except SMTP with its replies. */
export const RULES_BY_CODE = [SES_RULES, RESEND_RULES, NETWORK_RULES]
export const REFINEMENTS = [...SES_REFINEMENTS, ...RESEND_REFINEMENTS, ...NETWORK_REFINEMENTS, ...SMTP_REFINEMENTS]

/** The rule for an error name or code of a provider, a library or Node; AWS sometimes puts a namespace before it. */
export function ruleForName(name: string): ErrorRule | undefined {
  const bare = name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('#')) + 1)
  return RULES_BY_CODE.find(rules => rules.has(bare))?.get(bare)
}

/**
 * For a response without a known error name: 5xx is retried, 4xx is final. A 408 or 5xx that is not in the provider's own form may
 * come from a proxy that had forwarded the message, so the outcome is unknown.
 */
export function ruleForHttpStatus(statusCode: number, ownForm = false): ErrorRule | undefined {
  const known = HTTP_STATUS_RULES.get(String(statusCode))
  if (known) return known.ambiguous && ownForm ? errorRule(known.code, known.category, 'retry') : known
  if (statusCode >= 500)
    return errorRule(`*_HTTP_${statusCode}`, 'TRANSIENT_ERROR', ownForm ? 'retry' : 'retry-ambiguous')
  if (statusCode >= 400) return errorRule(`*_HTTP_${statusCode}`, 'PERMANENT_ERROR', 'final')
  return undefined
}

const isInconclusive = (statusCode: number) => statusCode === 408 || statusCode >= 500

export const HTTP_STATUS_ERRORS: readonly ErrorRow[] = [
  ['401', '*_UNAUTHORIZED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['408', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['429', '*_RATE_LIMITED', 'QUOTA_ERROR', 'retry-slower'],
  ['504', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
]

export const HTTP_STATUS_RULES = rulesByReportedCode(HTTP_STATUS_ERRORS)

export function codeOf(rule: ErrorRule, provider: ProviderName): string {
  return rule.code.replace('*', provider.toUpperCase())
}
