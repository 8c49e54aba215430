import { literal, type Queryable, sql } from '../../platform/postgres/query.ts'
import { listTopics } from '../../providers/ses/sns.ts'
import type { InUse } from '../../settings/processes.ts'
import { failed, type Verdict, warning } from './verdict.ts'

/** Whether e-mails went out by this provider in the last day, some time ago, and whether any event of it has come since. */
type EventFlow = { sent: boolean; received: boolean }

/** `topics`: those of `ses setup`. */
export type EventSetup = { topics: string[]; flow: Record<'ses' | 'resend', EventFlow> }

export async function readEventSetup(db: Queryable): Promise<EventSetup> {
  return {
    topics: await listTopics(db),
    flow: { ses: await readEventFlow(db, 'ses'), resend: await readEventFlow(db, 'resend') },
  }
}

const NEWEST = 2_000

async function readEventFlow(db: Queryable, provider: 'ses' | 'resend'): Promise<EventFlow> {
  const [row] = await sql<EventFlow>(db, 'read-event-flow')`
    select exists (select from (select provider, sent_at from email_outbox order by outbox_id desc limit ${literal(NEWEST)}) o
         where split_part(provider, ':', 1) = ${provider} and sent_at between now() - interval '1 day' and now() - interval '10 minutes') as sent,
       exists (select from provider_events where provider = ${provider} and received_at > now() - interval '1 day') as received`
  return row!
}

const SET_UP = 'email-gateway ses setup --url https://…'

/** Without provider events, SENT is the last status of an e-mail, and bounces suppress nothing. */
export function checkEvents({ settings, providers }: InUse, { topics, flow }: EventSetup): Verdict[] {
  const uses = (provider: string) => providers.some(entry => entry.split(':')[0] === provider)
  const known = [...(settings.SNS_TOPIC_ARNS ?? []), ...topics]
  const verdicts: Verdict[] = []
  const warn = (detail: string) => verdicts.push(warning(detail))
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
    verdicts.push(
      failed(
        `SNS_REGIONS lacks the region of ${otherRegion.join(', ')}: its messages are refused; add it, or remove SNS_REGIONS`,
      ),
    )
  return verdicts
}

const isSilent = ({ sent, received }: EventFlow) => sent && !received
