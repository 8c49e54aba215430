import type { Queryable } from '../../platform/postgres/query.ts'
import { listTopics } from '../../providers/ses/sns.ts'
import type { InUse } from '../../settings/processes.ts'
import type { Check } from './command.ts'
import { type EventFlow, readEventFlow } from './database.ts'

/** `topics`: those of `ses setup`. */
export type EventSetup = { topics: string[]; flow: Record<'ses' | 'resend', EventFlow> }

export async function readEventSetup(db: Queryable): Promise<EventSetup> {
  return {
    topics: await listTopics(db),
    flow: { ses: await readEventFlow(db, 'ses'), resend: await readEventFlow(db, 'resend') },
  }
}

const SET_UP = 'email-gateway ses setup --url https://…'

/** Without provider events, SENT is the last status of an e-mail, and bounces suppress nothing. */
export function eventChecks({ settings, providers }: InUse, { topics, flow }: EventSetup): Check[] {
  const name = 'events'
  const checks: Check[] = []
  const uses = (provider: string) => providers.some(entry => entry.split(':')[0] === provider)
  const warn = (detail: string) => checks.push({ name, state: 'warning', detail })
  const known = [...(settings.SNS_TOPIC_ARNS ?? []), ...topics]
  if (uses('ses') && known.length === 0)
    warn(`SNS_TOPIC_ARNS is not set: bounces and complaints of Amazon SES are not received; run: ${SET_UP}`)
  if (uses('ses') && known.length > 0 && !settings.SES_CONFIGURATION_SET)
    warn(
      'SES_CONFIGURATION_SET is not set: only notifications of the identity come, without Send events and tags; set it to the name of `ses setup`',
    )
  if (uses('resend') && !settings.RESEND_WEBHOOK_SECRET)
    warn('RESEND_WEBHOOK_SECRET is not set: bounces and complaints of Resend are not received')
  if (uses('ses') && known.length > 0 && isSilent(flow.ses))
    warn(`e-mails went out by Amazon SES in the last day, and no event has come; run: ${SET_UP}`)
  if (uses('resend') && settings.RESEND_WEBHOOK_SECRET && isSilent(flow.resend))
    warn(
      'e-mails went out by Resend in the last day, and no event has come; look at its webhook at resend.com/webhooks',
    )
  const otherRegion = known.filter(arn => settings.SNS_REGIONS && !settings.SNS_REGIONS.includes(arn.split(':')[3]!))
  if (otherRegion.length > 0)
    checks.push({
      name,
      state: 'failed',
      detail: `SNS_REGIONS lacks the region of ${otherRegion.join(', ')}: its messages are refused; add it, or remove SNS_REGIONS`,
    })
  return checks
}

const isSilent = ({ sent, received }: EventFlow) => sent && !received
