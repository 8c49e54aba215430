import type { EmailLocation } from '../../contracts/explain.ts'
import { iso, type Queryable, run } from '../query.ts'
import { HEARTBEAT_TIMEOUT } from '../workers.ts'
import { HAS_CONTENT } from './dead-letters.ts'
import { BOUNCED_COUNT } from './emails.ts'

/** Of an e-mail that was deleted meanwhile. */
const NOWHERE: EmailLocation = {
  ...{ queuePosition: null, inFlight: null, unknown: null, parked: null, contentGone: false, workersAlive: true },
  ...{ throughRedis: false, eventsExpected: true, sentAgain: false, recipients: { bounced: 0, of: 0 } },
}

const isRecorded = (setting: string) =>
  `exists (select from gateway_processes where seen_at > now() - interval '15 seconds' and settings ? '${setting}')`

/** By what running processes have recorded, and what has come before. */
const EVENTS_EXPECTED = `case split_part(coalesce((select u.provider from unknown_sends u where u.outbox_id = o.outbox_id), o.provider, ''), ':', 1)
  when 'smtp' then false when 'capture' then false
  when 'ses' then ${isRecorded('SNS_TOPIC_ARNS')} or exists (select from sns_topics) or exists (select from provider_events where provider = 'ses')
  when 'resend' then ${isRecorded('RESEND_WEBHOOK_SECRET')} or exists (select from provider_events where provider = 'resend')
  else true end`

/**
 * What the e-mail's own row does not tell: how many are ready before it, which lease it is under, what it waits for. Counting stops at a
 * thousand: "more than 1000" is an answer too, and costs no more. `providers`: those in use.
 */
export async function findLocation(db: Queryable, outboxId: string, providers: string[]): Promise<EmailLocation> {
  const [row] = await run<EmailLocation>(
    db,
    'find-location',
    `with recursive ready as (
       (select company_id from email_ready order by company_id limit 1)
       union all
       select (select n.company_id from email_ready n where n.company_id > ready.company_id order by n.company_id limit 1)
       from ready where ready.company_id is not null
     )
     select (
       select json_build_object('paused', c.paused_at is not null, 'pauseReason', c.pause_reason,
         'companies', (select count(company_id) from ready),
         'ahead', (select count(*) from (select from email_ready a where a.company_id = r.company_id
           and (a.priority, a.outbox_id) < (r.priority, r.outbox_id) limit 1001) t))
       from email_ready r join companies c using (company_id)
       where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id) as "queuePosition", (
       select json_build_object('kind', l.kind, 'holder', l.holder, 'expired', l.expires_at < now(),
         'silent', l.kind = 'work' and not exists (select from workers w where w.host || ':' || w.pid = l.holder
           and w.seen_at > now() - ${HEARTBEAT_TIMEOUT})) from leases l
       where l.outbox_ids @> array[o.outbox_id] order by l.kind desc limit 1) as "inFlight", (
       select json_build_object('reason', u.reason, 'provider', u.provider, 'since', ${iso('u.since')}, 'resolveAt', ${iso('u.resolve_at')},
         'onUnknown', o.on_unknown)
       from unknown_sends u where u.outbox_id = o.outbox_id) as unknown, (
       select json_agg(json_build_object('provider', p.name, 'since', ${iso('p.opened_at')}, 'code', p.reason_code, 'reason', p.reason,
         'probeAt', ${iso('p.probe_at')}) order by array_position($2::text[], p.name))
       from providers p where p.name = any($2) and p.state = 'open' and not o.test
       having count(*) = cardinality($2::text[])) as parked,
       not ${HAS_CONTENT} as "contentGone",
       exists (select from workers where seen_at > now() - ${HEARTBEAT_TIMEOUT}) as "workersAlive",
       exists (select from workers where seen_at > now() - ${HEARTBEAT_TIMEOUT} and lane = 'bullmq') as "throughRedis",
       ${EVENTS_EXPECTED} as "eventsExpected",
       exists (select from email_events v where v.outbox_id = o.outbox_id and v.type = 'RESOLVED'
         and v.metadata ->> 'by' = 'policy-resend') as "sentAgain",
       (select json_build_object('bounced', ${BOUNCED_COUNT}, 'of', count(*)) from email_recipients r
         where r.outbox_id = o.outbox_id and not r.suppressed) as recipients
     from email_outbox o where o.outbox_id = $1`,
    [outboxId, providers],
  )
  return row ?? NOWHERE
}
