import { type Queryable, run } from '../platform/postgres/query.ts'

export type WebhookSettlement = {
  endpointId: string
  deliveryId: string
  /** Attempts before this one. If the row has more, another process repeated this attempt and nothing is written. */
  attempts: number
  outcome: 'delivered' | 'retry' | 'failed'
  retryDelayMs: number | null
  /** The body that was sent, stored for the retries. */
  body: string | null
  status: number | null
  error: string | null
  answer: string
  durationMs: number
}

export type EndpointReport = {
  endpointId: string
  /** Consecutive failures; 0 after a success. */
  failures: number
  /** For how long the endpoint gets no further attempts. */
  pauseMs: number
}

/** Returns the endpoints that have only failed for `disableAfter` (a Postgres interval such as "5 days"). */
export async function settleDeliveries(
  db: Queryable,
  settlements: WebhookSettlement[],
  reports: EndpointReport[],
  disableAfter: string,
): Promise<string[]> {
  const rows = await run<{ endpointId: string; over: boolean | null }>(db, 'settle-deliveries', SETTLE, [
    JSON.stringify(settlements),
    JSON.stringify(reports),
    disableAfter,
  ])
  return rows.filter(row => row.over).map(row => row.endpointId)
}

const SETTLE = `
with settled as materialized (
  select settle_webhook(input."endpointId", input."deliveryId", input.attempts, input.outcome, input."retryDelayMs", input.body, input.status, input.error, input.answer,
    input."durationMs") as outcome
  from json_to_recordset($1::json) as input("endpointId" uuid, "deliveryId" uuid, attempts smallint, outcome text,
    "retryDelayMs" float8, body text, status smallint, error text, answer text, "durationMs" int)
), counted as (
  insert into counters as c (name, label, value) select 'webhook_deliveries', outcome, count(*) from settled where outcome is not null
  group by outcome order by outcome
  on conflict (name, label) do update set value = c.value + excluded.value
)
update webhook_state s set failures = r.failures,
  failing_since = case when r.failures > 0 then coalesce(s.failing_since, now()) end,
  resume_at = now() + r."pauseMs" * interval '1 millisecond'
from json_to_recordset($2::json) as r("endpointId" uuid, failures int, "pauseMs" float8)
where s.endpoint_id = r."endpointId" and (r.failures > 0 or s.failures > 0)
returning s.endpoint_id, s.failing_since <= now() - $3::interval as over`
