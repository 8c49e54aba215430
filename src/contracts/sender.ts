import type { MailAddress } from './addresses.ts'

export type SenderRules = {
  /** Domains the company may send from. Subdomains are not included. */
  fromDomains: readonly string[]
  /** EMAIL_FROM: the sender of companies without domains. */
  defaultFrom: MailAddress
  /** Capture mode or a test key: a company without domains may use any sender. */
  nothingLeaves: boolean
}

/** The address to send from, or null when the company may not use the one it asked for. */
export function decideSender(wanted: MailAddress | undefined, rules: SenderRules): MailAddress | null {
  const { fromDomains, defaultFrom, nothingLeaves } = rules
  if (!wanted)
    return fromDomains.length === 0 || nothingLeaves || fromDomains.includes(defaultFrom.domain) ? defaultFrom : null
  if (fromDomains.length > 0) return fromDomains.includes(wanted.domain) ? wanted : null
  return nothingLeaves || wanted.normalised === defaultFrom.normalised ? wanted : null
}
