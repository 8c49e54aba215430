import { ruleForName } from './classify.ts'
import { OWN_CODES, ruleForOwnCode } from './contract-errors.ts'
import { parseSmtpReply, smtpRule } from './smtp.ts'

/** What a provider reports later about a message that it had accepted. */
const REPORTED = ['REJECT', 'RENDERING_FAILURE'] as const

/** What the gateway says of a lost worker and of a provider whose account is paused. */
const OBSERVED = ['WORKER_LOST', 'PROVIDER_PAUSED'] as const

/** Every code that the gateway gives an error, but for `…_HTTP_<status>`. */
export const ERROR_CODES: readonly string[] = [...new Set([...OWN_CODES.keys(), ...REPORTED, ...OBSERVED])].sort()

/** own: one of the gateway's codes. provider: a word of a provider, a library or an SMTP server that the tables know. */
export function vocabularyOf(code: string): 'own' | 'provider' | null {
  if (ERROR_CODES.includes(code) || ruleForOwnCode(code)) return 'own'
  const isReply = /^[45](\d\d|\.\d{1,3}\.\d{1,3})( [45]\.\d{1,3}\.\d{1,3})?$/.test(code)
  return ruleForName(code) || (isReply && smtpRule(parseSmtpReply(code) ?? {})) ? 'provider' : null
}
