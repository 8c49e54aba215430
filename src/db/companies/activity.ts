import { iso, type Queryable, run } from '../query.ts'

export type ActivityRow = {
  at: string
  requests: number
  suppressed: number
  accepted: number
  sent: number
  delivered: number
  bounced: number
  complained: number
  rejected: number
  failed: number
  expired: number
}

const COUNTED = [
  'requests',
  'suppressed',
  'accepted',
  'sent',
  'delivered',
  'bounced',
  'complained',
  'rejected',
  'failed',
  'expired',
] as const satisfies (keyof ActivityRow)[]

export type ActivityStep = 'hour' | 'day'

/** One row for each hour or day (UTC) of the last `count`, also of those without any mail; the current one is the last. */
export async function readActivity(
  db: Queryable,
  companyId: string,
  { step, count }: { step: ActivityStep; count: number },
): Promise<ActivityRow[]> {
  const sums = COUNTED.map(name => `coalesce(sum(s.${name}), 0)::float8 as ${name}`).join(', ')
  return run<ActivityRow>(
    db,
    `read-activity-${step}`,
    `select ${iso('step')} as at, ${sums}
     from generate_series(date_trunc('${step}', now(), 'UTC') - ($2 - 1) * interval '1 ${step}', now(), interval '1 ${step}') as step
     left join company_statistics s on s.company_id = $1 and s.hour >= step and s.hour < step + interval '1 ${step}'
     group by step order by step`,
    [companyId, count],
  )
}

export async function readCountedUntil(db: Queryable): Promise<string> {
  const [row] = await run<{ at: string }>(
    db,
    'read-counted-until',
    `select ${iso('counted_until')} as at from statistics_cursor`,
    [],
  )
  return row!.at
}

/** What is not counted yet is read from the log, unless there is more of it than this. */
const MAX_UNCOUNTED = 5_000

/** E-mails accepted in the last 24 hours and the part of an hour before, of companies that had any; those of the last minute, too. */
export async function listVolumes(db: Queryable): Promise<Map<string, number>> {
  const rows = await run<{ companyId: string; accepted: number }>(
    db,
    'list-company-volumes',
    `with uncounted as materialized (
       select e.company_id, e.outbox_id from email_events e
       where e.created_at >= (select counted_until from statistics_cursor) and e.type = 'QUEUED' limit $1 + 1
     )
     select company_id as "companyId", sum(accepted)::float8 as accepted from (
       select company_id, accepted from company_statistics where hour >= date_trunc('hour', now() - interval '24 hours')
       union all
       select company_id, count(*) from uncounted u where (select count(*) from uncounted) <= $1
         and (select not o.test from email_outbox o where o.outbox_id = u.outbox_id) group by company_id
     ) s group by company_id`,
    [MAX_UNCOUNTED],
  )
  return new Map(rows.map(({ companyId, accepted }) => [companyId, accepted]))
}
