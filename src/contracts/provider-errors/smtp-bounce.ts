import { parseSmtpReply } from './smtp.ts'

/** The types of SES, which the gateway uses for every provider. Only Permanent suppresses the address. */
export interface SmtpBounce {
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
