import { maskSensitive } from '../masking.ts'
import { NETWORK_REFINEMENTS, NETWORK_RULES } from './network.ts'
import { RESEND_REFINEMENTS, RESEND_RULES } from './resend.ts'
import { type ErrorCategory, type ErrorRow, type ErrorRule, errorRule, rulesBySaying } from './rules.ts'
import { SES_REFINEMENTS, SES_RULES } from './ses.ts'
import { parseSmtpReply, SMTP_REFINEMENTS, type SmtpReply, smtpRule } from './smtp.ts'

export const PROVIDER_NAMES = ['ses', 'resend', 'smtp', 'capture'] as const
export type ProviderName = (typeof PROVIDER_NAMES)[number]

export interface ProviderError {
  provider: ProviderName
  /** `error.name`, or the name in the provider's answer. */
  name?: string | undefined
  /** HTTP. */
  statusCode?: number | undefined
  /** The answer had the form of the provider's own errors, so it does not come from something in between. */
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
  /** No connection could be made: nothing has left. */
  unconnected: boolean
  /** An SMTP server says that it may work later (4xx), as with greylisting. */
  deferred: boolean
  ambiguous: boolean
  originalCode: string | null
  /** Masked, never blank. */
  message: string
}

const MESSAGE_MAX_CHARS = 1000

/** No answer and no known failure: something may have left, so the benefit of the doubt goes against a duplicate. */
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

/** Cut to a length that may fall in the middle of a character, and without what no database keeps. */
function storable(message: string): string {
  return message.replaceAll('\0', '').trim().slice(0, MESSAGE_MAX_CHARS).toWellFormed()
}

interface Found {
  said: string
  /** An SMTP server said it. */
  isReply: boolean
  originalCode: string | null
  rule: ErrorRule
}

/** The most telling witness first: the server's reply, then what broke the connection, the name, the bare status. */
function findRule(error: ProviderError): Found {
  const { statusCode = 0 } = error
  const [networkCode, name] = [storable(error.networkCode ?? ''), storable(error.name ?? '')]
  const reply = smtpReplyOf(error)
  const replyRule = smtpRule(reply)
  if (replyRule) {
    return {
      said: reply.code ?? '',
      isReply: true,
      originalCode: [reply.code, reply.enhanced].filter(Boolean).join(' '),
      rule: replyRule,
    }
  }
  // A name in an answer that a proxy may have made up is no evidence.
  const isDoubtful = error.ownForm === false && saysNothing(statusCode)
  for (const said of isDoubtful ? [networkCode] : [networkCode, name]) {
    const rule = ruleForName(said)
    if (rule) return { said, isReply: false, originalCode: said, rule }
  }
  const originalCode = networkCode || name || (statusCode ? String(statusCode) : null)
  const rule = ruleForHttpStatus(statusCode, error.ownForm) ?? UNKNOWN_ERROR
  return { said: '', isReply: false, originalCode, rule }
}

/** Libraries give the reply code and leave the enhanced status, sometimes both, in the text. */
function smtpReplyOf({ provider, smtpCode, enhancedStatus, message = '' }: ProviderError): SmtpReply {
  const given = { ...(smtpCode && { code: String(smtpCode) }), ...(enhancedStatus && { enhanced: enhancedStatus }) }
  const read = provider === 'smtp' ? parseSmtpReply(message) : undefined
  return read?.code === given.code || !given.code ? { ...read, ...given } : given
}

function refine({ said }: Found, message = ''): ErrorRule | undefined {
  return REFINEMENTS.find(refinement => refinement.said.includes(said) && refinement.message.test(message))?.rule
}

export const REFINEMENTS = [...SES_REFINEMENTS, ...RESEND_REFINEMENTS, ...NETWORK_REFINEMENTS, ...SMTP_REFINEMENTS]

/** The row for a name as a provider, a library or Node says it; AWS sometimes puts a namespace before it. */
export function ruleForName(name: string): ErrorRule | undefined {
  const bare = name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('#')) + 1)
  return SES_RULES.get(bare) ?? RESEND_RULES.get(bare) ?? NETWORK_RULES.get(bare)
}

/**
 * An answer without a name we know: the provider's trouble passes, its refusal stays. A 408 or 5xx that is not in the provider's
 * own form may come from a proxy that had passed the message on: it says nothing about the outcome.
 */
export function ruleForHttpStatus(statusCode: number, ownForm = false): ErrorRule | undefined {
  const known = HTTP_STATUS_RULES.get(String(statusCode))
  if (known) return known.ambiguous && ownForm ? errorRule(known.code, known.category, 'retry') : known
  if (statusCode >= 500)
    return errorRule(`*_HTTP_${statusCode}`, 'TRANSIENT_ERROR', ownForm ? 'retry' : 'retry-ambiguous')
  if (statusCode >= 400) return errorRule(`*_HTTP_${statusCode}`, 'PERMANENT_ERROR', 'final')
  return undefined
}

const saysNothing = (statusCode: number) => statusCode === 408 || statusCode >= 500

/** HTTP answers without a name we know. */
export const HTTP_STATUS_ERRORS: readonly ErrorRow[] = [
  ['401', '*_UNAUTHORIZED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['408', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
  ['429', '*_RATE_LIMITED', 'QUOTA_ERROR', 'retry-slower'],
  ['504', '*_TIMEOUT', 'TIMEOUT_ERROR', 'retry-ambiguous'],
]

export const HTTP_STATUS_RULES = rulesBySaying(HTTP_STATUS_ERRORS)

export function codeOf(rule: ErrorRule, provider: ProviderName): string {
  return rule.code.replace('*', provider.toUpperCase())
}
