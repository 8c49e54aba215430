import type { Database } from '../platform/postgres/pool.ts'
import type { ProviderDomains } from '../providers/domains.ts'
import { silenceAwsSdkWarning } from '../settings/config.ts'
import { senderSettings } from '../settings/sender.ts'
import type { Settings } from '../settings/settings.ts'
import { type DomainDeps, dnsLookup } from './domains.ts'

/** `entries`: the providers in use, which a command reads from the running gateway. */
export function composeDomains(config: Settings, db: Database, entries = config.EMAIL_PROVIDER): DomainDeps {
  return {
    db,
    lookup: dnsLookup(config.DNS_SERVERS),
    openProviders: () => openProviders(config, entries),
    operatorsDomain: senderSettings(config).defaultFrom.domain,
  }
}

/** Imported when used: loading the AWS SDK takes a third of a second. */
async function openProviders(config: Settings, entries: string[]): Promise<ProviderDomains[]> {
  const ofSes = entries.filter(entry => entry.split(':')[0] === 'ses')
  const opened: ProviderDomains[] = []
  if (ofSes.length > 0) {
    silenceAwsSdkWarning()
    const { sesDomains } = await import('../providers/ses/domains.ts')
    for (const [place, name] of ofSes.entries()) {
      const region = name.split(':')[1] ?? config.AWS_REGION!
      opened.push(sesDomains({ name, place, region, sesEndpoint: config.AWS_ENDPOINT_URL_SESV2 }))
    }
  }
  if (entries.includes('resend')) {
    const { resendDomains } = await import('../providers/resend/domains.ts')
    const { RESEND_BASE_URL } = await import('../providers/resend/resend.ts')
    opened.push(resendDomains({ apiKey: config.RESEND_API_KEY!, baseUrl: config.RESEND_BASE_URL ?? RESEND_BASE_URL }))
  }
  return opened
}
