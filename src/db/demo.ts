import { type Queryable, run } from './query.ts'

/** For `email-gateway demo` only, whose database is its own. Everything else it does through the API. */

const DAYS = 30

/**
 * Hours of the last 30 days with a day and a night, so that charts have something to show before the first hour is over. `share`: the
 * company's part of the traffic, in percent.
 */
export async function putDemoHistory(db: Queryable, companyId: string, share: number, types: string[]): Promise<void> {
  await run(
    db,
    'put-demo-statistics',
    `insert into company_statistics (company_id, hour, requests, suppressed, accepted, sent, delivered, bounced, complained, rejected, failed,
       expired, finally_delivered, finally_failed, recovered, not_recovered, delivery_seconds)
     select $1, hour, n + n / 60, n / 60, n, n - n / 150, (n * 0.97)::int, (n * (0.008 + random() * 0.012))::int, (n * random() * 0.0006)::int,
       (n * random() * 0.004)::int, (n * random() * 0.003)::int, 0, (n * 0.975)::int, (n * 0.012)::int, (n * 0.01)::int, (n * 0.002)::int,
       n * (0.8 + random())
     from (
       select hour, ($2 * (4 + 9 * greatest(0, sin((extract(hour from hour) - 7) / 24 * 2 * pi())) + random() * 2)
         * case when extract(isodow from hour) > 5 then 0.45 else 1 end)::int as n
       from generate_series(date_trunc('hour', now()) - $3 * interval '1 day', date_trunc('hour', now()) - interval '1 hour', interval '1 hour') hour
     ) hours
     on conflict do nothing`,
    [companyId, share, DAYS],
  )
  await run(
    db,
    'put-demo-template-statistics',
    `insert into template_statistics (company_id, type, hour, accepted, sent, failed, retries)
     select company_id, type, hour, accepted / cardinality($2::text[]), sent / cardinality($2::text[]), failed / cardinality($2::text[]),
       recovered / cardinality($2::text[])
     from company_statistics cross join unnest($2::text[]) as type where company_id = $1
     on conflict do nothing`,
    [companyId, types],
  )
  await run(
    db,
    'put-demo-requests',
    `insert into send_requests_total (company_id, requests, suppressed)
     select company_id, sum(requests), sum(suppressed) from company_statistics where company_id = $1 group by 1 on conflict do nothing`,
    [companyId],
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
  await run(db, 'clear-demo-suppression-days', 'delete from suppression_daily', [])
  await run(
    db,
    'put-demo-suppression-days',
    `insert into suppression_daily (day, reason, added)
     select (added_at at time zone 'UTC')::date, reason, count(*) from suppression_list group by 1, 2`,
    [],
  )
}

/** An e-mail by SQL whose template does not exist: it ends FAILED. */
export async function enqueueDemoFailure(db: Queryable, companyId: string, recipient: string): Promise<void> {
  await run(db, 'enqueue-demo-failure', `select put_sql_email($1, false, null, 'retired_template', $2, '{}')`, [
    companyId,
    recipient,
  ])
}

/** A waiting e-mail becomes too old to be sent. */
export async function expireDemoEmail(db: Queryable, outboxId: string): Promise<void> {
  await run(
    db,
    'expire-demo-email',
    `with due as (
       update email_outbox set expires_at = now(), next_attempt_at = now() where outbox_id = $1 and status = 'PENDING' returning outbox_id
     )
     update email_scheduled s set due_at = now() from due where s.outbox_id = due.outbox_id`,
    [outboxId],
  )
}
