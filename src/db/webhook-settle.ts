import { type Queryable, run } from './pool.ts'

export type WebhookSettlement = {
  endpointId: string
  deliveryId: string
  /** Attempts before this one: a report about an attempt that somebody else repeated changes nothing. */
  attempts: number
  outcome: 'delivered' | 'retry' | 'failed'
  retryDelayMs: number | null
  /** What was sent, kept for the retries. */
  body: string | null
  status: number | null
  error: string | null
  answer: string
  durationMs: number
}

export type EndpointReport = {
  endpointId: string
  /** In a row; 0 when it took the last one. */
  failures: number
  /** How long it is left alone. */
  pauseMs: number
}

/** Answers the endpoints that have done nothing but fail for `disableAfter`, as Postgres writes an interval. */
export async function settleDeliveries(
  db: Queryable,
  settlements: WebhookSettlement[],
  reports: EndpointReport[],
  disableAfter: string,
): Promise<string[]> {
  const rows = await run<{ endpoint_id: string; over: boolean | null }>(db, 'settle-deliveries', SETTLE, [
    JSON.stringify(settlements),
    JSON.stringify(reports),
    disableAfter,
  ])
  return rows.filter(row => row.over).map(row => row.endpoint_id)
}

const SETTLE = `
with input as materialized (
  select * from json_to_recordset($1::json) as x("endpointId" uuid, "deliveryId" uuid, attempts smallint, outcome text,
    "retryDelayMs" float8, body text, status smallint, error text, answer text, "durationMs" int)
), settled as (
  update webhook_deliveries d set status = case i.outcome when 'retry' then 'waiting' else i.outcome end, attempts = d.attempts + 1,
    due_at = now() + i."retryDelayMs" * interval '1 millisecond', body = case when i.outcome = 'retry' then coalesce(d.body, i.body) end,
    last_attempt_at = now(), last_status = i.status, last_error = i.error, last_answer = i.answer, last_duration_ms = i."durationMs"
  from input i where d.endpoint_id = i."endpointId" and d.delivery_id = i."deliveryId" and d.attempts = i.attempts and d.status = 'waiting'
  returning d.endpoint_id, d.sequence, i.outcome
), unready as (
  delete from webhook_ready r using settled s where r.endpoint_id = s.endpoint_id and r.sequence = s.sequence
), counted as (
  insert into counters as c (name, label, value) select 'webhook_deliveries', outcome, count(*) from settled group by outcome order by outcome
  on conflict (name, label) do update set value = c.value + excluded.value
)
update webhook_state s set failures = r.failures,
  failing_since = case when r.failures > 0 then coalesce(s.failing_since, now()) end,
  resume_at = now() + r."pauseMs" * interval '1 millisecond'
from json_to_recordset($2::json) as r("endpointId" uuid, failures int, "pauseMs" float8)
where s.endpoint_id = r."endpointId" and (r.failures > 0 or s.failures > 0)
returning s.endpoint_id, s.failing_since <= now() - $3::interval as over`
