import type { DeadLetterFilter, DeadStatus } from '../../src/outbox/dead-letters.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'

export type DeadChange = {
  status?: DeadStatus | 'EXPIRED'
  code?: string
  reason?: string
  attempts?: number
  /** How long ago the first of them ended; each next one a millisecond later. */
  agoSeconds?: number
}

/** E-mails that ended as the pipeline ends them, with everything that hangs on them, many at once. Oldest first. */
export async function makeDead(
  db: Queryable,
  companyId: string,
  count: number,
  change: DeadChange = {},
): Promise<string[]> {
  const { status = 'DLQ', code = '421', reason = 'Service not available', attempts = 5, agoSeconds = 60 } = change
  const ids = Array.from({ length: count }, () => uuidv7())
  await db.query(
    `with input as materialized (
       select id, now() - $7 * interval '1 second' + place * interval '1 millisecond' as ended
       from unnest($1::uuid[]) with ordinality as x(id, place)
     ), put_outbox as (
       insert into email_outbox (outbox_id, company_id, status, request_id, test, from_address, subject, priority, retry_policy,
         on_unknown, attempts, max_attempts, expires_at, provider, attempt_id, error_code, error_category, failure_reason, duration_ms, failed_at)
       select id, $2, $3, 'r-1', false, 'shop@example.com', 'Hello', 5, 'steps', 'resend', $6, 5, ended + interval '1 day', 'capture',
         gen_random_uuid(), $4, 'TRANSIENT_ERROR', $5, 12, ended from input
     ), put_recipients as (
       insert into email_recipients (outbox_id, ordinal, kind, address, status, suppressed)
       select id, 0, 'to', 'maria@example.com', $3, false from input
       union all select id, 1, 'cc', 'suppressed@example.com', 'REJECTED', true from input
     ), put_content as (
       insert into email_content (outbox_id, html, text, headers) select id, '<p>It works.</p>', 'It works.', '{"X-A":"b"}' from input
     ), put_files as (
       insert into email_attachments (outbox_id, ordinal, filename, content_type, content) select id, 0, 'a.txt', 'text/plain', 'a' from input
     ), put_events as (
       insert into email_events (outbox_id, company_id, type) select id, $2, 'QUEUED' from input
     )
     insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_code, last_failure_at,
       retry_history, original_data, enqueued_at, moved_at)
     select id, $2, $6, $5, $4, ended, jsonb_build_array(jsonb_build_object('attempt', $6::int, 'timestamp', ended, 'error', $4::text)),
       jsonb_build_object('outboxId', id, 'companyId', $2::text, 'subject', 'Hello'), ended - interval '1 minute', ended
     from input where $3 <> 'EXPIRED'`,
    [ids, companyId, status, code, reason, attempts, agoSeconds],
  )
  return ids
}

/** How often each of them was replayed and how many ready rows it has: exactly one, or something is wrong. */
export async function replaysOf(db: Queryable, companyId: string) {
  const { rows } = await db.query<{ pending: number; events: number; ready: number; dead: number; twice: number }>(
    `with own as materialized (select outbox_id, status from email_outbox where company_id = $1),
     replays as (select e.outbox_id, count(*) as times from email_events e join own using (outbox_id) where e.type = 'REPLAYED' group by 1)
     select (select count(*) from own where status = 'PENDING')::int as pending, (select coalesce(sum(times), 0) from replays)::int as events,
       (select count(*) from email_ready where company_id = $1)::int as ready,
       (select count(*) from dead_letters where company_id = $1)::int as dead,
       (select count(*) from replays where times > 1)::int as twice`,
    [companyId],
  )
  return rows[0]!
}

export const EVERY_DEAD_LETTER: DeadLetterFilter = {
  companyId: null,
  code: null,
  status: null,
  since: null,
  until: null,
}
