import { parseSmtpReply, smtpRule } from '../smtp/errors.ts'
import { ruleForName } from './classify.ts'
import { OWN_CODES, ruleForOwnCode } from './contract.ts'

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
