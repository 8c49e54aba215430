import type { MailAddress } from './addresses.ts'

export type SenderRules = {
  /** Domains the company may send from; a subdomain counts as its own domain. */
  fromDomains: readonly string[]
  /** EMAIL_FROM: what a company without domains sends from. */
  defaultFrom: MailAddress
  /** Nothing leaves the gateway (capture, test key): any sender will do. */
  anyAllowed: boolean
}

/** The address to send from, or null when the company may not use the one it asked for. */
export function decideSender(wanted: MailAddress | undefined, rules: SenderRules): MailAddress | null {
  if (!wanted) return rules.defaultFrom
  if (rules.anyAllowed) return wanted
  if (rules.fromDomains.length > 0) return rules.fromDomains.includes(wanted.domain) ? wanted : null
  return wanted.normalised === rules.defaultFrom.normalised ? wanted : null
}
