import { fragment, type Queryable, run, sql } from '../../platform/postgres/query.ts'

/** For `email-gateway demo` only, whose database is its own. Everything else it does through the API. */

const DAYS = 30

/** `share`: the company's part of the traffic, in percent. The rates are of what was sent. */
type DemoHistory = {
  companyId: string
  share: number
  types: string[]
  bounceRate: number
  complaintRate: number
}

/**
 * Hours of the last 30 days with a day and a night, about as busy as the traffic of the demo, so that charts have something to show
 * before the first hour is over. What other views count of the same time is derived from these hours.
 */
export async function putDemoHistory(db: Queryable, history: DemoHistory): Promise<void> {
  const { companyId, share, types, bounceRate, complaintRate } = history
  await run(
    db,
    'put-demo-statistics',
    // floor(… + random()): small companies have a complaint now and then, too.
    `insert into statistics (company_id, step, at, requests, suppressed, accepted, sent, delivered, bounced, complained, rejected, failed,
       expired, finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds, reputation_sent, reputation_bounced, reputation_complained)
     -- A third of the bounces is permanent; only those count for the reputation.
     select $1, 'hour', hour, n + n / 150, n / 150, n, sent, sent - bounced - unreported, bounced, complained, rejected, failed,
       0, sent - bounced, bounced + rejected + failed, n / 100, failed / 2, (sent - bounced) * (0.8 + random()), sent, bounced / 3, complained
     from (
       select hour, n, rejected, failed, n - rejected - failed as sent, floor((n - rejected - failed) * 0.01 + random())::int as unreported,
         floor((n - rejected - failed) * $4::float8 * (0.8 + random() * 0.4) + random())::int as bounced,
         floor((n - rejected - failed) * $5::float8 * (0.8 + random() * 0.4) + random())::int as complained
       from (
         select hour, n, floor(n * 0.004 * random() + random())::int as rejected, floor(n * 0.003 * random() + random())::int as failed
         from (
           select hour, ($2 * (45 + 80 * greatest(0, sin((extract(hour from hour) - 7) / 24 * 2 * pi())) + random() * 15)
             * case when extract(isodow from hour) > 5 then 0.45 else 1 end)::int as n
           from generate_series(date_trunc('hour', now()) - $3 * interval '1 day', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour
         ) volumes
       ) ends
     ) hours
     on conflict do nothing`,
    [companyId, share, DAYS, bounceRate, complaintRate],
  )
  await sql(db, 'put-demo-minutes')`
    insert into statistics (company_id, step, at, ${fragment`${COUNTED.join(', ')}`})
     select company_id, 'minute', at + part * interval '1 minute', ${fragment`${COUNTED.map(name => partOf(name, 60)).join(', ')}`}
     from statistics cross join generate_series(0, 59) as part
     where company_id = ${companyId} and template_type = '' and step = 'hour' and at = date_trunc('hour', now()) - interval '1 hour' on conflict do nothing`
  await sql(db, 'put-demo-template-statistics')`
    insert into statistics (company_id, template_type, step, at, accepted, sent, dead_letters, retries)
     select company_id, types[part + 1], 'hour', at, ${fragment`${['accepted', 'sent', 'failed', 'recovered'].map(name => partOf(name, 'of')).join(', ')}`}
     from statistics cross join (select ${types}::text[] as types, cardinality(${types}::text[]) as of) given cross join generate_series(0, of - 1) as part
     where company_id = ${companyId} and template_type = '' and step = 'hour' on conflict do nothing`
  await sql(db, 'put-demo-requests')`
    insert into counters (name, label, value)
     select 'email_send_requests', ${companyId}::uuid || t.label, t.value
     from (select sum(requests) as requests, sum(suppressed) as suppressed from statistics where company_id = ${companyId}::uuid and template_type = '' and step = 'hour') s
     cross join lateral (values (' false', requests - suppressed), (' true', suppressed)) as t(label, value) on conflict do nothing`
}

const COUNTED = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'rejected', 'failed', 'expired']

/** The part number `part` of so many: together they are the whole. */
const partOf = (name: string, of: number | string) => `${name} * (part + 1) / ${of} - ${name} * part / ${of}`

/** What was just set up is older than the history of the companies. */
export async function ageDemoSetup(db: Queryable): Promise<void> {
  for (const [table, columns] of [
    ['companies', ['created_at']],
    ['api_keys', ['created_at']],
    ['templates', ['created_at', 'updated_at']],
    ['template_versions', ['created_at', 'published_at']],
    ['webhook_endpoints', ['created_at', 'updated_at']],
    ['audit_log', ['performed_at']],
  ] as const)
    await run(
      db,
      `age-demo-${table}`,
      `update ${table} set ${columns.map(name => `${name} = ${name} - $1 * interval '1 day'`).join(', ')}
       where ${columns[0]} > now() - interval '1 hour'`,
      [DAYS + 10],
    )
}

/** The entries that were just added become the growth of the last 30 days. */
export async function spreadDemoSuppressions(db: Queryable): Promise<void> {
  const ago = `(('x' || substr(email_hash, 8, 4))::bit(16)::int % ($1 * 1440)) * interval '1 minute'`
  await run(
    db,
    'age-demo-suppressions',
    `update suppression_list set added_at = now() - ${ago}, updated_at = now() - ${ago}`,
    [DAYS],
  )
  await run(db, 'age-demo-suppression-audit', `update suppression_audit_log set performed_at = now() - ${ago}`, [DAYS])
  await sql(db, 'clear-demo-suppression-days')`delete from suppression_daily`
  await sql(db, 'put-demo-suppression-days')`
    insert into suppression_daily (day, reason, added)
     select (added_at at time zone 'UTC')::date, reason, count(*) from suppression_list group by 1, 2`
}

/** An e-mail by SQL whose template does not exist: it ends FAILED. */
export async function enqueueDemoFailure(db: Queryable, companyId: string, recipient: string): Promise<void> {
  await sql(db, 'enqueue-demo-failure')`
    select put_sql_email(${companyId}, false, null, 'retired_template', ${recipient}, '{}')`
}

/** As if it had been paused for days, so that some of its mail has waited for too long. */
export async function ageDemoPause(db: Queryable, companyId: string): Promise<void> {
  await sql(db, 'age-demo-pause')`
    update companies set paused_at = now() - interval '3 days' where company_id = ${companyId}`
  await sql(db, 'age-demo-pause-audit')`
    update audit_log set performed_at = now() - interval '3 days' where company_id = ${companyId} and action = 'PAUSED'`
}

export type WaitedEmail = { companyId: string; type: string; recipient: string; variables: Record<string, unknown> }

/** An e-mail that was accepted more than a day ago and has waited since: its company is paused, and it expires. */
export async function enqueueDemoExpiry(db: Queryable, { companyId, type, recipient, variables }: WaitedEmail) {
  const acceptedAt = new Date(Date.now() - DAY_MS - 60_000)
  await sql(db, 'ensure-demo-day')`
    select ensure_email_partitions((${acceptedAt}::timestamptz at time zone 'UTC')::date)`
  await sql(db, 'enqueue-demo-expiry')`
    with made as materialized (
       select uuid_v7_at(${acceptedAt}::timestamptz) as id, ${acceptedAt}::timestamptz as instant, address_hash(${recipient}) as hash
     ), put_email as (
       insert into email_outbox (outbox_id, company_id, request_id, test, template_type, priority, on_unknown, max_attempts, created_at, expires_at)
       select id, ${companyId}, 'demo', false, ${type}::text, 5, 'resend', 5, instant, instant + interval '24 hours' from made
     ), put_recipient as (
       insert into email_recipients (outbox_id, ordinal, kind, address, address_key) select id, 0, 'to', ${recipient}, address_key(hash) from made
     ), put_content as (
       insert into email_content (outbox_id, variables) select id, ${JSON.stringify(variables)}::jsonb from made
     ), put_event as (
       insert into email_events (outbox_id, company_id, type, created_at, metadata)
       select id, ${companyId}, 'QUEUED', instant, jsonb_build_object('recipientHash', hash, 'priority', 5, 'templateType', ${type}::text) from made
     )
     insert into email_ready (company_id, priority, outbox_id) select ${companyId}, 5, id from made`
}

const DAY_MS = 24 * 3_600_000
