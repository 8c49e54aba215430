import type { DnsRecord } from '../../contracts/domains/records.ts'

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
