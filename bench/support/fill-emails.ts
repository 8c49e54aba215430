import type pg from 'pg'

/** Companies, the same number in each database: the lists are over e-mails. */
const COMPANIES = 20
const DAYS = 7
/** One statement for so many, so that each is short. */
const CHUNK = 50_000

/**
 * E-mails of the last week, evenly spread over time, companies and ten thousand recipients. One in fifty bounced, one in two hundred is
 * a dead letter, one in a thousand has the tag `rare`. Also suppressions, and statistics for every hour of a month.
 */
export async function fillEmails(db: pg.Client, emails: number, suppressions: number): Promise<void> {
  await db.query(
    `insert into companies (company_id, name) select ${companyOf('n')}, 'bench-' || n from generate_series(1, ${COMPANIES}) n`,
  )
  await db.query(
    `select ensure_email_partitions((now() - n * interval '1 day')::date) from generate_series(0, ${DAYS}) n`,
  )
  for (let from = 1; from <= emails; from += CHUNK)
    await fillChunk(db, from, Math.min(emails, from + CHUNK - 1), emails)
  await db.query(`insert into suppression_list (email_hash, reason, added_at, expires_at)
    select ${hashOf(`'listed' || n || '@example.com'`)}, case when n % 10 = 0 then 'COMPLAINT' else 'HARD_BOUNCE' end,
      now() - n * interval '1 second', case when n % 10 = 0 then null else now() + interval '90 days' end
    from generate_series(1, ${suppressions}) n`)
  await db.query(`insert into statistics (company_id, step, at, accepted, sent, delivered)
    select ${companyOf('c')}, 'hour', date_trunc('hour', now()) - h * interval '1 hour', 100, 100, 90
    from generate_series(1, ${COMPANIES}) c cross join generate_series(0, 719) h`)
  await db.query('update statistics_cursor set counted_until = now()')
  await db.query('vacuum analyze')
  await db.query('checkpoint')
}

const companyOf = (n: string) => `('00000000-0000-4000-8000-' || lpad((${n})::text, 12, '0'))::uuid`
const hashOf = (text: string) => `'sha256:' || encode(sha256(convert_to(${text}, 'UTF8')), 'hex')`

async function fillChunk(db: pg.Client, from: number, to: number, total: number): Promise<void> {
  await db.query(
    `create temporary table chunk as select n, uuid_v7_at(at) as id, at, ${companyOf(`n % ${COMPANIES} + 1`)} as company,
       'cliente' || n % 10000 || '@example.com' as address,
       case when n % 50 = 0 then 'BOUNCED' when n % 200 = 1 then 'DLQ' else 'DELIVERED' end as status
     from generate_series(${from}, ${to}) n cross join lateral (select now() - (${total} - n) * interval '${DAYS} days' / ${total} as at) t`,
  )
  await db.query(`insert into email_outbox (outbox_id, company_id, status, request_id, external_id, test, from_address, subject, template_type, tags,
      priority, on_unknown, attempts, max_attempts, created_at, expires_at, provider, message_id, sent_at, failed_at, failure_reason)
    select id, company, status, 'bench', 'order-' || n, false, 'a@example.com', 'Order ' || n, case when n % 3 = 0 then 'invoice' end,
      case when n % 1000 = 0 then '{rare}' else '{order}' end::text[], 5, 'resend', 1, 5, at, at + interval '24 hours', 'capture', 'bench-' || n, at,
      case when status = 'DLQ' then at end, case when status = 'DLQ' then 'refused' end from chunk order by n`)
  await db.query(`insert into email_recipients (outbox_id, ordinal, kind, address, address_key, status)
    select id, 0, 'to', address, ('x' || substr(encode(sha256(convert_to(address, 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint, status from chunk order by n`)
  await db.query(`insert into email_content (outbox_id, text) select id, 'Your order has left.' from chunk order by n`)
  await db.query(`insert into email_events (outbox_id, company_id, type, created_at, metadata)
    select id, company, e.type, at + e.nth * interval '1 millisecond', e.metadata from chunk cross join lateral (values
      ('QUEUED', 0, '{}'::jsonb), ('SENT_ATTEMPT', 1, '{"provider": "capture"}'), ('SENT', 2, jsonb_build_object('messageId', 'bench-' || n)),
      (case status when 'BOUNCED' then 'BOUNCE' when 'DLQ' then 'DLQ_MOVED' else 'DELIVERED' end, 3, '{}')) as e(type, nth, metadata) order by n`)
  await db.query(`insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
      retry_history, original_data, enqueued_at, moved_at)
    select id, company, 1, 'refused', 'SES_MESSAGE_REJECTED', at, '[]', '{}', at, at from chunk where status = 'DLQ' order by n`)
  await db.query('drop table chunk')
}
