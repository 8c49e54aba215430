/** A domain as one provider has it. */
export type ProviderDomain = {
  verified: boolean
  /** The provider's own word. */
  status: string
  records: DnsRecord[]
}

/** The domains of one entry of EMAIL_PROVIDER. SMTP and capture have none. */
export type ProviderDomains = {
  readonly name: string
  /** Creates what is missing. `created`: it was not there before. */
  ensure(domain: string): Promise<ProviderDomain & { created: boolean }>
  /** Asks the provider to look at DNS again, where it can be asked. null: it does not have the domain. */
  check(domain: string): Promise<ProviderDomain | null>
  remove(domain: string): Promise<void>
  close(): void
}

/** The provider could not be asked, or refused. The message is for people. */
export class ProviderDomainsFailed extends Error {
  override name = 'ProviderDomainsFailed'
}

type DnsType = 'CNAME' | 'MX' | 'TXT'
type DnsPurpose = 'DKIM' | 'MAIL FROM' | 'OWNERSHIP' | 'DMARC'

/** One record that the owner of a domain is asked to publish. */
export type DnsRecord = {
  purpose: DnsPurpose
  type: DnsType
  /** In full, without a dot at its end. */
  name: string
  value: string
  /** Of an MX. */
  priority?: number
  /** false: mail is sent without it, only less well received. */
  required: boolean
}

type SesIdentityFacts = {
  domain: string
  region: string
  dkimTokens: readonly string[]
  /** Where the keys are; in newer regions not dkim.amazonses.com. */
  signingHostedZone: string | undefined
  mailFrom: string | null
}

/** Easy DKIM, and the subdomain that SES uses as envelope sender. */
export function sesRecords({ domain, region, dkimTokens, signingHostedZone, mailFrom }: SesIdentityFacts): DnsRecord[] {
  const zone = signingHostedZone ?? 'dkim.amazonses.com'
  const dkim = dkimTokens.map(
    (token): DnsRecord => ({
      purpose: 'DKIM',
      type: 'CNAME',
      name: [token, '_domainkey', domain].join('.'),
      value: `${token}.${zone}`,
      required: true,
    }),
  )
  return mailFrom === null ? dkim : [...dkim, ...mailFromRecords(mailFrom, region)]
}

function mailFromRecords(mailFrom: string, region: string): DnsRecord[] {
  const common = { purpose: 'MAIL FROM', name: mailFrom, required: false } as const
  return [
    { ...common, type: 'MX', value: `feedback-smtp.${region}.amazonses.com`, priority: 10 },
    { ...common, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
  ]
}

/** The envelope sender of a domain: each region needs one of its own, since SES wants a single MX there. */
export function mailFromDomain(domain: string, region: string, place: number): string {
  return `${place === 0 ? 'bounce' : `bounce-${region}`}.${domain}`
}

const OWNERSHIP_LABEL = '_email-gateway'

/** Shows that the company may use the domain, and not only that somebody of this installation may. */
export function ownershipRecord(domain: string, token: string): DnsRecord {
  const value = `email-gateway-domain=${token}`
  return { purpose: 'OWNERSHIP', type: 'TXT', name: `${OWNERSHIP_LABEL}.${domain}`, value, required: true }
}

/** A beginning: nothing is refused by it, and the large mailbox providers ask for it. */
export function dmarcSuggestion(domain: string): DnsRecord {
  return { purpose: 'DMARC', type: 'TXT', name: `_dmarc.${domain}`, value: 'v=DMARC1; p=none', required: false }
}

/**
 * Resend names its records relative to the registered domain: `send` and `send.mail` for mail.example.com. The part that both have in
 * common is counted once.
 */
export function fullName(relative: string, domain: string): string {
  const name = relative.replace(/\.$/, '').toLowerCase()
  if (name === domain || name.endsWith(`.${domain}`)) return name
  const labels = domain.split('.')
  for (let count = labels.length - 1; count > 0; count--) {
    const start = labels.slice(0, count).join('.')
    if (name === start || name.endsWith(`.${start}`)) return `${name}.${labels.slice(count).join('.')}`
  }
  return `${name}.${domain}`
}
