import { type Queryable, run } from '../query.ts'

export type SendRequests = { companyId: string; requests: number; suppressed: number }

/** What one process has counted since its last call: this hour's figures and the totals, in a fixed order. */
export async function addSendRequests(db: Queryable, counts: SendRequests[]): Promise<void> {
  await run(
    db,
    'add-send-requests',
    `with counted as materialized (
       select * from json_to_recordset($1::json) as x("companyId" uuid, requests bigint, suppressed bigint)
     ), hourly as (
       insert into company_statistics as h (company_id, hour, requests, suppressed)
       select "companyId", date_trunc('hour', now()), requests, suppressed from counted order by "companyId"
       on conflict (company_id, hour) do update
         set requests = h.requests + excluded.requests, suppressed = h.suppressed + excluded.suppressed
     )
     insert into send_requests_total as t (company_id, requests, suppressed)
     select "companyId", requests, suppressed from counted order by "companyId"
     on conflict (company_id) do update
       set requests = t.requests + excluded.requests, suppressed = t.suppressed + excluded.suppressed`,
    [JSON.stringify(counts)],
  )
}

/** The last day, to the hour. */
export async function countLastDay(db: Queryable): Promise<{ requests: number; blocked: number }> {
  const [row] = await run<{ requests: number; blocked: number }>(
    db,
    'count-requests-of-last-day',
    `select coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(suppressed), 0)::float8 as blocked
     from company_statistics where hour > now() - interval '24 hours'`,
    [],
  )
  return row!
}
