import { type MailAddress, parseAddress } from '../platform/text/addresses.ts'
import type { Config } from './config.ts'

export type SenderSettings = {
  /** EMAIL_FROM: the sender of companies without domains. */
  defaultFrom: MailAddress
  /** No provider that leaves the machine is configured. */
  captureOnly: boolean
}

export type SenderRules = {
  /** Domains the company may send from. Subdomains are not included. */
  fromDomains: readonly string[]
  /** The sender that the company chose for e-mails that name none. */
  companyFrom?: string | null
  defaultFrom: MailAddress
  /** Capture mode or a test key: a company without domains may use any sender. */
  nothingLeaves: boolean
}

/** The address to send from, or null when the company may not use the one it asked for. */
export function decideSender(wanted: MailAddress | undefined, rules: SenderRules): MailAddress | null {
  if (wanted) return mayUse(wanted, rules) ? wanted : null
  const { companyFrom, defaultFrom, fromDomains, nothingLeaves } = rules
  const chosen = companyFrom ? parseAddress(companyFrom) : null
  if (chosen?.ok && mayUse(chosen.value, rules)) return chosen.value
  return fromDomains.length === 0 || nothingLeaves || fromDomains.includes(defaultFrom.domain) ? defaultFrom : null
}

function mayUse(address: MailAddress, { fromDomains, defaultFrom, nothingLeaves }: SenderRules): boolean {
  if (fromDomains.length > 0) return fromDomains.includes(address.domain)
  return nothingLeaves || address.normalised === defaultFrom.normalised
}

export function senderSettings({
  EMAIL_FROM,
  EMAIL_PROVIDER,
}: Pick<Config, 'EMAIL_FROM' | 'EMAIL_PROVIDER'>): SenderSettings {
  const parsed = parseAddress(EMAIL_FROM)
  if (!parsed.ok) throw new Error('EMAIL_FROM was checked by config.ts')
  return { defaultFrom: parsed.value, captureOnly: EMAIL_PROVIDER.includes('capture') }
}
