import { type ErrorRow, type ErrorRule, errorRule, type Refinement, rulesByReportedCode } from '../errors/rules.ts'

/** RFC 5321 and 4954. The credentials are the gateway's own, so a failed login parks the provider. */
export const SMTP_REPLIES: readonly ErrorRow[] = [
  ['421', 'SMTP_SERVICE_NOT_AVAILABLE', 'TRANSIENT_ERROR', 'retry'],
  ['432', 'SMTP_PASSWORD_TRANSITION_NEEDED', 'CONFIGURATION_ERROR', 'retry-parked'],
  ['450', 'SMTP_MAILBOX_BUSY', 'TRANSIENT_ERROR', 'retry'],
  ['451', 'SMTP_LOCAL_ERROR', 'TRANSIENT_ERROR', 'retry'],
  ['452', 'SMTP_INSUFFICIENT_STORAGE', 'TRANSIENT_ERROR', 'retry'],
  ['454', 'SMTP_TEMPORARY_AUTH_FAILURE', 'TRANSIENT_ERROR', 'retry'],
  ['455', 'SMTP_PARAMETERS_NOT_ACCOMMODATED', 'TRANSIENT_ERROR', 'retry'],
  ['500', 'SMTP_SYNTAX_ERROR', 'PERMANENT_ERROR', 'final'],
  ['501', 'SMTP_PARAMETER_SYNTAX_ERROR', 'PERMANENT_ERROR', 'final'],
  ['502', 'SMTP_COMMAND_NOT_IMPLEMENTED', 'PERMANENT_ERROR', 'final'],
  ['503', 'SMTP_BAD_SEQUENCE', 'PERMANENT_ERROR', 'final'],
  ['504', 'SMTP_PARAMETER_NOT_IMPLEMENTED', 'PERMANENT_ERROR', 'final'],
  ['521', 'SMTP_HOST_DOES_NOT_ACCEPT_MAIL', 'PERMANENT_ERROR', 'final'],
  ['530', 'SMTP_AUTH_REQUIRED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['534', 'SMTP_AUTH_MECHANISM_TOO_WEAK', 'CONFIGURATION_ERROR', 'final-parked'],
  ['535', 'SMTP_AUTH_FAILED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['538', 'SMTP_ENCRYPTION_REQUIRED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['541', 'SMTP_REJECTED_BY_POLICY', 'PERMANENT_ERROR', 'final'],
  ['550', 'SMTP_MAILBOX_UNAVAILABLE', 'PERMANENT_ERROR', 'final'],
  ['551', 'SMTP_USER_NOT_LOCAL', 'PERMANENT_ERROR', 'final'],
  ['552', 'SMTP_STORAGE_EXCEEDED', 'PERMANENT_ERROR', 'final'],
  ['553', 'SMTP_MAILBOX_NAME_NOT_ALLOWED', 'PERMANENT_ERROR', 'final'],
  ['554', 'SMTP_TRANSACTION_FAILED', 'PERMANENT_ERROR', 'final'],
  ['555', 'SMTP_PARAMETERS_NOT_RECOGNIZED', 'PERMANENT_ERROR', 'final'],
  ['556', 'SMTP_DOMAIN_DOES_NOT_ACCEPT_MAIL', 'PERMANENT_ERROR', 'final'],
]

/** RFC 3463 and the IANA registry of enhanced status codes. */
export const SMTP_ENHANCED_STATUSES: readonly ErrorRow[] = [
  ['4.2.1', 'SMTP_MAILBOX_BUSY', 'TRANSIENT_ERROR', 'retry'],
  ['4.2.2', 'SMTP_MAILBOX_FULL_FOR_NOW', 'TRANSIENT_ERROR', 'retry'],
  ['4.3.1', 'SMTP_INSUFFICIENT_STORAGE', 'TRANSIENT_ERROR', 'retry'],
  ['4.3.2', 'SMTP_SERVICE_NOT_AVAILABLE', 'TRANSIENT_ERROR', 'retry'],
  ['4.4.1', 'SMTP_HOST_DOES_NOT_ANSWER', 'TRANSIENT_ERROR', 'retry'],
  ['4.4.2', 'SMTP_CONNECTION_DROPPED', 'TRANSIENT_ERROR', 'retry'],
  ['4.4.5', 'SMTP_CONGESTION', 'TRANSIENT_ERROR', 'retry'],
  ['4.7.0', 'SMTP_DEFERRED_BY_POLICY', 'TRANSIENT_ERROR', 'retry'],
  ['4.7.1', 'SMTP_DEFERRED_BY_POLICY', 'TRANSIENT_ERROR', 'retry'],
  ['4.7.28', 'SMTP_RATE_LIMITED', 'QUOTA_ERROR', 'retry'],
  ['5.1.1', 'SMTP_MAILBOX_NOT_FOUND', 'PERMANENT_ERROR', 'final'],
  ['5.1.2', 'SMTP_DOMAIN_NOT_FOUND', 'PERMANENT_ERROR', 'final'],
  ['5.1.3', 'SMTP_INVALID_ADDRESS', 'PERMANENT_ERROR', 'final'],
  ['5.1.6', 'SMTP_MAILBOX_MOVED', 'PERMANENT_ERROR', 'final'],
  ['5.1.7', 'SMTP_SENDER_REFUSED', 'CONFIGURATION_ERROR', 'final'],
  ['5.1.8', 'SMTP_SENDER_REFUSED', 'CONFIGURATION_ERROR', 'final'],
  ['5.1.10', 'SMTP_DOMAIN_DOES_NOT_ACCEPT_MAIL', 'PERMANENT_ERROR', 'final'],
  ['5.2.1', 'SMTP_MAILBOX_DISABLED', 'PERMANENT_ERROR', 'final'],
  ['5.2.2', 'SMTP_MAILBOX_FULL', 'PERMANENT_ERROR', 'final'],
  ['5.2.3', 'SMTP_MESSAGE_TOO_LARGE', 'PERMANENT_ERROR', 'final'],
  ['5.3.4', 'SMTP_MESSAGE_TOO_LARGE', 'PERMANENT_ERROR', 'final'],
  ['5.4.4', 'SMTP_UNROUTABLE', 'PERMANENT_ERROR', 'final'],
  ['5.4.6', 'SMTP_MAIL_LOOP', 'PERMANENT_ERROR', 'final'],
  ['5.5.3', 'SMTP_TOO_MANY_RECIPIENTS', 'PERMANENT_ERROR', 'final'],
  ['5.7.1', 'SMTP_REJECTED_BY_POLICY', 'PERMANENT_ERROR', 'final'],
  ['5.7.8', 'SMTP_AUTH_FAILED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['5.7.9', 'SMTP_AUTH_MECHANISM_TOO_WEAK', 'CONFIGURATION_ERROR', 'final-parked'],
  ['5.7.11', 'SMTP_ENCRYPTION_REQUIRED', 'CONFIGURATION_ERROR', 'final-parked'],
  ['5.7.20', 'SMTP_SENDER_NOT_AUTHENTICATED', 'CONFIGURATION_ERROR', 'final'],
  ['5.7.23', 'SMTP_SENDER_NOT_AUTHENTICATED', 'CONFIGURATION_ERROR', 'final'],
  ['5.7.25', 'SMTP_SENDER_NOT_AUTHENTICATED', 'CONFIGURATION_ERROR', 'final'],
  ['5.7.26', 'SMTP_SENDER_NOT_AUTHENTICATED', 'CONFIGURATION_ERROR', 'final'],
  ['5.7.27', 'SMTP_SENDER_NOT_AUTHENTICATED', 'CONFIGURATION_ERROR', 'final'],
]

/**
 * Amazon's SMTP interface answers 454 for a used-up quota too. Only a server that closes the session (421) limits all mail;
 * 4.7.28 with another reply code is about one recipient's domain and must not slow down the rest.
 */
export const SMTP_REFINEMENTS: readonly Refinement[] = [
  {
    reportedCodes: ['454'],
    message: /daily message quota/i,
    rule: errorRule('SMTP_DAILY_QUOTA_EXCEEDED', 'QUOTA_ERROR', 'retry-parked'),
  },
  {
    reportedCodes: ['454'],
    message: /throttling|sending rate/i,
    rule: errorRule('SMTP_THROTTLING', 'QUOTA_ERROR', 'retry-slower'),
  },
  {
    reportedCodes: ['421'],
    message: /\b4\.7\.28\b|rate limit|too many (?:messages|e-?mails)/i,
    rule: errorRule('SMTP_THROTTLING', 'QUOTA_ERROR', 'retry-slower'),
  },
  {
    // Exchange Online: `432 4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded`.
    reportedCodes: ['432'],
    message: /limit|too many/i,
    rule: errorRule('SMTP_THROTTLING', 'QUOTA_ERROR', 'retry-slower'),
  },
]

export const SMTP_REPLY_RULES = rulesByReportedCode(SMTP_REPLIES)
export const SMTP_ENHANCED_RULES = rulesByReportedCode(SMTP_ENHANCED_STATUSES)

/** By the first digit, for codes that are not in the tables. */
export const SMTP_CLASS_RULES: ReadonlyMap<string, ErrorRule> = new Map([
  ['4', errorRule('SMTP_TEMPORARY_FAILURE', 'TRANSIENT_ERROR', 'retry')],
  ['5', errorRule('SMTP_PERMANENT_FAILURE', 'PERMANENT_ERROR', 'final')],
])

export interface SmtpReply {
  code?: string
  enhanced?: string
}

/** Beside another reply code, a status about a login is what the recipient's own server said, and a relay passed on. */
const OF_A_RECIPIENT = SMTP_ENHANCED_RULES.get('5.7.1')

/** The enhanced status decides. A reply code of the same class is used where the table has no such status, and always for AUTH errors. */
export function smtpRule({ code = '', enhanced = '' }: SmtpReply): ErrorRule | undefined {
  const reply = SMTP_REPLY_RULES.get(code)
  if (!SMTP_CLASS_RULES.has(enhanced.charAt(0))) return reply ?? SMTP_CLASS_RULES.get(code.charAt(0))
  const agreeing = code.charAt(0) === enhanced.charAt(0) ? reply : undefined
  if (agreeing?.effect) return agreeing
  const precise = SMTP_ENHANCED_RULES.get(enhanced)
  if (precise?.effect && code) return OF_A_RECIPIENT
  return precise ?? agreeing ?? SMTP_CLASS_RULES.get(enhanced.charAt(0))
}

const ENHANCED_ONLY = /^\s*([45]\.\d{1,3}\.\d{1,3})(?![\d.])/
const CODE_AND_ENHANCED = /(?<![\d.])([45]\d\d)[ -]([45]\.\d{1,3}\.\d{1,3})(?![\d.])/
const CODE_ONLY = /(?:^|\b(?:smtp|error|code|status|reply|response)\b)[\s:;,=-]*([45]\d\d)(?!\d)/i

/** Reads `421`, `4.7.0`, `550 5.1.1 …`, `550-5.1.1 …`, `smtp; 550 5.1.1 …` and `SMTP Error 421: …`. */
export function parseSmtpReply(text: string): SmtpReply | undefined {
  const enhanced = ENHANCED_ONLY.exec(text)
  if (enhanced) return { enhanced: enhanced[1]! }
  const both = CODE_AND_ENHANCED.exec(text)
  if (both) return { code: both[1]!, enhanced: both[2]! }
  const code = CODE_ONLY.exec(text)
  return code ? { code: code[1]! } : undefined
}

/** The types of SES, which the gateway uses for every provider. Only Permanent suppresses the address. */
interface SmtpBounce {
  bounceType: 'Permanent' | 'Transient' | 'Undetermined'
  bounceSubType: 'NoEmail' | 'General' | 'MailboxFull' | 'MessageTooLarge' | 'Undetermined'
}

/** X.1.x is about the recipient's address, except these two, which are about the sender's (RFC 3463). */
const OF_THE_SENDER = ['5.1.7', '5.1.8']

/** Without an enhanced status the text decides, because 550 alone is also used for policy, relaying and reputation. */
const NO_MAILBOX_CODES = ['550', '551', '553', '554']
const NO_MAILBOX_TEXT = new RegExp(
  [
    'no such (?:user|mailbox|recipient|address|person|account)',
    '(?:unknown|invalid|non-?existent) (?:local )?(?:user|mailbox|recipient|address|account)',
    '(?:user|mailbox|recipient|address|account)\\b.{0,80}\\b(?:unknown|not found|not exist|doesn.?t exist|no longer exists|not known)',
    'no mailbox (?:here|by that name)',
    'not a (?:known|valid) (?:user|mailbox|recipient)',
  ].join('|'),
  'i',
)
/** With one of these words the refusal is about policy: "relaying denied, user unknown". */
const POLICY_TEXT = /relay|spam|policy|block(?:ed|list)|blacklist|reputation|denied|sender|quota|size/i

/** RFC 7504: the domain does not accept mail. */
const DOMAIN_TAKES_NONE = '556'

/**
 * Classifies the refusal of one recipient at RCPT. Only "no such mailbox" is permanent: a refusal for policy, size, relaying or
 * quota does not show whether the address exists.
 */
export function smtpBounce(reply: string): SmtpBounce {
  const { code = '', enhanced = '' } = parseSmtpReply(reply) ?? {}
  if ((enhanced || code).startsWith('4'))
    return { bounceType: 'Transient', bounceSubType: enhanced === '4.2.2' ? 'MailboxFull' : 'General' }
  if (meansNoMailbox(code, enhanced, reply)) return { bounceType: 'Permanent', bounceSubType: 'NoEmail' }
  if (enhanced === '5.2.2') return { bounceType: 'Transient', bounceSubType: 'MailboxFull' }
  if (['5.2.3', '5.3.4'].includes(enhanced)) return { bounceType: 'Undetermined', bounceSubType: 'MessageTooLarge' }
  return { bounceType: 'Undetermined', bounceSubType: 'Undetermined' }
}

function meansNoMailbox(code: string, enhanced: string, text: string): boolean {
  // 5.0.0 has no meaning of its own, so it is treated like a missing status.
  if (enhanced && enhanced !== '5.0.0') return enhanced.startsWith('5.1.') && !OF_THE_SENDER.includes(enhanced)
  if (code === DOMAIN_TAKES_NONE) return true
  return NO_MAILBOX_CODES.includes(code) && NO_MAILBOX_TEXT.test(text) && !POLICY_TEXT.test(text)
}
