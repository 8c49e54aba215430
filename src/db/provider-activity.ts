import { type Queryable, run } from './query.ts'

type ProviderErrors = { code: string; count: number; lastAt: Date }
export type ProviderActivity = {
  name: string
  /** E-mails that it took in the last minute. */
  sentLastMinute: number
  lastSentAt: Date | null
  inFlight: number
  errors: ProviderErrors[]
}

/** Only so many of the newest failures and e-mails are looked at, so that the answer takes the same time whatever there is. */
const MAX_FAILURES = 5_000
const MAX_EMAILS = 2_000

/** Every provider that was used lately, or failed in the last `hours`. */
export async function readProviderActivity(db: Queryable, hours: number): Promise<ProviderActivity[]> {
  const rows = await run<ProviderActivity>(
    db,
    'read-provider-activity',
    `with failures as (
       select outbox_id, created_at, coalesce(metadata ->> 'errorCode', type) as code from email_events
       where type in ('RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'UNKNOWN') and created_at > now() - $1 * interval '1 hour'
       order by created_at desc limit ${MAX_FAILURES}
     ), codes as (
       -- By the attempt that failed: a later one may be at another provider.
       select a.name, f.code, count(*)::int as count, max(f.created_at) as last_at
       from failures f cross join lateral (
         select a.metadata ->> 'provider' as name from email_events a
         where a.outbox_id = f.outbox_id and a.type = 'SENT_ATTEMPT' and a.created_at <= f.created_at order by a.created_at desc limit 1) a
       group by 1, 2
     ), errors as (
       select name, json_agg(json_build_object('code', code, 'count', count, 'lastAt', last_at) order by count desc, code) as errors
       from codes group by 1
     ), minute as (
       select o.provider as name, count(*)::int as sent, max(e.created_at) as last_at
       from email_events e join email_outbox o on o.outbox_id = e.outbox_id
       where e.type = 'SENT' and e.created_at > now() - interval '1 minute' group by 1
     ), newest as (
       select provider as name, max(sent_at) as last_at
       from (select provider, sent_at from email_outbox order by outbox_id desc limit ${MAX_EMAILS}) o group by 1
     ), flying as (
       select o.provider as name, count(*)::int as in_flight
       from leases l cross join lateral unnest(l.outbox_ids) id join email_outbox o on o.outbox_id = id and o.status = 'PROCESSING'
       group by 1
     )
     select name, coalesce(m.sent, 0) as "sentLastMinute", greatest(m.last_at, n.last_at) as "lastSentAt",
       coalesce(f.in_flight, 0) as "inFlight", coalesce(e.errors, '[]') as errors
     from errors e full join minute m using (name) full join newest n using (name) full join flying f using (name)
     where name is not null`,
    [hours],
  )
  return rows.map(row => ({ ...row, errors: row.errors.map(one => ({ ...one, lastAt: new Date(one.lastAt) })) }))
}

/**
 * The next e-mail of any worker probes the parked provider: each reads the time within a second. Returns the reason why it was parked;
 * null: it is not.
 */
export async function requestProbe(db: Queryable, name: string, performedBy: string): Promise<string | null> {
  const [row] = await run<{ code: string }>(
    db,
    'request-probe',
    `with known as materialized (select name, reason_code, probes, probe_at from providers where name = $1 and state = 'open' for update),
     asked as (
       update providers p set probe_at = least(p.probe_at, now()) from known where p.name = known.name returning p.name, p.probe_at
     ), audited as (
       insert into audit_log (subject_type, subject_id, action, performed_by, before, after)
       select 'provider', known.name, 'PROVIDER_PROBE_REQUESTED', $2,
         jsonb_build_object('reasonCode', known.reason_code, 'failedProbes', known.probes, 'probeAt', known.probe_at),
         jsonb_build_object('probeAt', asked.probe_at)
       from known join asked using (name)
     )
     select reason_code as code from known`,
    [name, performedBy],
  )
  return row?.code ?? null
}
