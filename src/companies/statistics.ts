import { z } from 'zod'
import { fragment, iso, type Queryable, sql } from '../platform/postgres/query.ts'

/** Sums over the hours of a range: what the e-mails that were accepted in it came to, each counted once. */
type Outcomes = {
  accepted: number
  /** Delivered, or taken by the provider and not returned. */
  delivered: number
  failed: number
  /** Of those whose first attempt failed and was repeated. */
  recovered: number
  notRecovered: number
  /** From the due time to the delivery, added up over the delivered ones. */
  deliverySeconds: number
}

const kpi = (unit: string) =>
  z.object({
    value: z.number().nullable().describe(`${unit}; null: no e-mail to measure`),
    target: z.string(),
    met: z.boolean().nullable(),
  })

const kpisSchema = z.object({
  finalDeliveryRate: kpi('Delivered of all that have ended, 0 to 1'),
  meanSecondsToDelivery: kpi('Seconds'),
  recoveryRate: kpi('Delivered of those whose first attempt failed, 0 to 1'),
  finalFailureRate: kpi('Failed of all that have ended, 0 to 1'),
})
export type Kpis = z.infer<typeof kpisSchema>
export type Kpi = Kpis[keyof Kpis]

const TARGETS = {
  finalDeliveryRate: { above: 0.98, text: '> 98 %' },
  meanSecondsToDelivery: { below: 300, text: '< 5 min' },
  recoveryRate: { above: 0.9, text: '> 90 %' },
  finalFailureRate: { below: 0.02, text: '< 2 %' },
} as const satisfies Record<keyof Kpis, ({ above: number } | { below: number }) & { text: string }>

export function kpisOf({ delivered, failed, recovered, notRecovered, deliverySeconds }: Outcomes): Kpis {
  return {
    finalDeliveryRate: judge('finalDeliveryRate', share(delivered, delivered + failed)),
    meanSecondsToDelivery: judge('meanSecondsToDelivery', share(deliverySeconds, delivered)),
    recoveryRate: judge('recoveryRate', share(recovered, recovered + notRecovered)),
    finalFailureRate: judge('finalFailureRate', share(failed, delivered + failed)),
  }
}

const share = (part: number, whole: number) => (whole > 0 ? part / whole : null)

function judge(name: keyof Kpis, value: number | null): Kpi {
  const target = TARGETS[name]
  const met = value === null ? null : 'above' in target ? value > target.above : value < target.below
  return { value, target: target.text, met }
}

export const statsSchema = z
  .object({
    since: z.iso.datetime().describe('The beginning of the first hour'),
    until: z.iso.datetime(),
    countedUntil: z.iso.datetime().describe('Later events are not counted yet'),
    companyId: z.uuid().nullable().describe('null: every company'),
    emails: z.object({
      accepted: z.int(),
      delivered: z.int().describe('Delivered, or taken by the provider and not returned'),
      failed: z.int().describe('Rejected, failed, expired or bounced for good'),
      recovered: z.int().describe('Delivered after their first attempt had failed'),
      notRecovered: z.int().describe('Failed after their first attempt had failed and was repeated'),
    }),
    kpis: kpisSchema,
  })
  .meta({ id: 'Stats' })
export type Stats = z.infer<typeof statsSchema>

/** The tables `statistics` (by time) and `counters` (since the beginning). Reputation has its columns in companies/reputation.ts. */

/** A call counts up to five minutes of events; after a long stop, the next call of housekeeping goes on. */
const MAX_CALLS = 100

/** Counts the events of the log, up to a minute ago. Any process may call it; one at a time does the work. */
export async function rollUpStatistics(db: Queryable): Promise<void> {
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const [row] = await sql<{ counted: boolean }>(db, 'roll-up-statistics')`
      select roll_up_statistics() as counted`
    if (!row!.counted) return
  }
}

/** Null: a week ago, now, every company. */
type StatsRange = { since: string | null; until: string | null; companyId: string | null }

type StatsRow = Outcomes & Pick<Stats, 'since' | 'until' | 'countedUntil'>

/** Over the whole hours from that of `since` to that before `until`. */
export async function readStats(db: Queryable, { since, until, companyId }: StatsRange): Promise<Stats> {
  const [row] = await sql<StatsRow>(db, 'read-stats')`
    with range as materialized (
       select date_trunc('hour', coalesce(${since}::timestamptz, now() - interval '7 days')) as low, coalesce(${until}::timestamptz, now()) as high
     )
     select ${iso('low')} as since, ${iso('high')} as until,
       (select ${iso('counted_until')} from statistics_cursor) as "countedUntil", sums.*
     from range cross join lateral (
       select coalesce(sum(accepted), 0)::float8 as accepted, coalesce(sum(finally_delivered), 0)::float8 as delivered,
         coalesce(sum(finally_failed), 0)::float8 as failed, coalesce(sum(recovered), 0)::float8 as recovered,
         coalesce(sum(not_recovered), 0)::float8 as "notRecovered", coalesce(sum(delivery_seconds), 0) as "deliverySeconds"
       from statistics where template_type = '' and step = 'hour' and at >= low and at < high and (${companyId}::uuid is null or company_id = ${companyId}::uuid)) sums`
  const { since: low, until: high, countedUntil, deliverySeconds, ...emails } = row!
  return { since: low, until: high, countedUntil, companyId, emails, kpis: kpisOf({ ...emails, deliverySeconds }) }
}

/** What one process has counted since its last call, in a fixed order. Labels: a company's id and whether it was suppressed. */
export async function addSendRequests(db: Queryable, counts: [label: string, requests: number][]): Promise<void> {
  await sql(db, 'add-send-requests')`
    with counted as materialized (
       select value ->> 0 as label, (value ->> 1)::bigint as requests from json_array_elements(${JSON.stringify(counts)}::json)
     ), hourly as (
       insert into statistics as s (company_id, step, at, requests, suppressed)
       select split_part(label, ' ', 1)::uuid, 'hour', date_trunc('hour', now()), sum(requests),
         coalesce(sum(requests) filter (where label like '% true'), 0)
       from counted group by 1 order by 1
       on conflict (company_id, template_type, step, at) do update
         set requests = s.requests + excluded.requests, suppressed = s.suppressed + excluded.suppressed
     )
     insert into counters as c (name, label, value)
     select 'email_send_requests', label, requests from counted order by label
     on conflict (name, label) do update set value = c.value + excluded.value`
}

/** The last day, to the hour. */
export async function countLastDay(db: Queryable): Promise<{ requests: number; blocked: number }> {
  const [row] = await sql<{ requests: number; blocked: number }>(db, 'count-requests-of-last-day')`
    select coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(suppressed), 0)::float8 as blocked
     from statistics where template_type = '' and step = 'hour' and at > now() - interval '24 hours'`
  return row!
}

const ACTIVITY = [
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
] as const

type ActivityRow = { at: string } & Record<(typeof ACTIVITY)[number], number>

export type ActivityStep = 'hour' | 'day'

/** One row for each hour or day (UTC) of the last `count`, also of those without any mail; the current one is the last. */
export async function readActivity(
  db: Queryable,
  companyId: string,
  { step, count }: { step: ActivityStep; count: number },
): Promise<ActivityRow[]> {
  const sums = ACTIVITY.map(name => `coalesce(sum(s.${name}), 0)::float8 as ${name}`).join(', ')
  return sql<ActivityRow>(db, `read-activity-${step}`)`
    select ${iso('begin')} as at, ${fragment`${sums}`}
     from generate_series(date_trunc('${fragment`${step}`}', now(), 'UTC') - (${count} - 1) * interval '1 ${fragment`${step}`}', now(), interval '1 ${fragment`${step}`}') as begin
     left join statistics s on s.company_id = ${companyId} and s.template_type = '' and s.step = 'hour' and s.at >= begin and s.at < begin + interval '1 ${fragment`${step}`}'
     group by begin order by begin`
}

export async function readCountedUntil(db: Queryable): Promise<string> {
  const [row] = await sql<{ at: string }>(db, 'read-counted-until')`
    select ${iso('counted_until')} as at from statistics_cursor`
  return row!.at
}

/** What is not counted yet is read from the log, unless there is more of it than this: then it is counted within a minute. */
const MAX_UNCOUNTED_EVENTS = 5_000

/** E-mails accepted in the last 24 hours and the part of an hour before, of companies that had any; those of the last minute, too. */
export async function listVolumes(db: Queryable): Promise<Map<string, number>> {
  const rows = await sql<{ companyId: string; accepted: number }>(db, 'list-company-volumes')`
    with uncounted as materialized (
       select e.company_id, e.outbox_id from email_events e
       where e.created_at >= (select counted_until from statistics_cursor) and e.type = 'QUEUED' limit ${MAX_UNCOUNTED_EVENTS} + 1
     )
     select company_id, sum(accepted)::float8 as accepted from (
       select company_id, accepted from statistics
       where template_type = '' and step = 'hour' and at >= date_trunc('hour', now() - interval '24 hours')
       union all
       select company_id, count(*) from uncounted u where (select count(*) from uncounted) <= ${MAX_UNCOUNTED_EVENTS}
         and (select not o.test from email_outbox o where o.outbox_id = u.outbox_id) group by company_id
     ) s group by company_id`
  return new Map(rows.map(({ companyId, accepted }) => [companyId, accepted]))
}

type CountedSeries = { nowMs: number; countedUntil: string; rows: CountedBucket[] }

/** By the minute or by the hour, and what is not counted yet. companyId null: of every company. */
export async function readSeries(
  db: Queryable,
  range: OverviewRange,
  companyId: string | null,
): Promise<CountedSeries> {
  const [clock] = await sql<{ nowMs: number; countedUntil: string }>(db, 'read-clock-and-counted-until')`
    select (extract(epoch from now()) * 1000)::float8 as "nowMs", ${iso('counted_until')} as "countedUntil" from statistics_cursor`
  const { nowMs, countedUntil } = clock!
  const { step } = OVERVIEW_RANGES[range]
  const begin = new Date(rangeBegin(range, nowMs)).toISOString()
  const [rows, uncounted] = await Promise.all([
    sql<CountedBucket>(db, 'read-series')`
      select (extract(epoch from at) * 1000)::float8 as "atMs", sum(accepted)::float8 as accepted, sum(sent)::float8 as sent,
         sum(delivered)::float8 as delivered, sum(bounced)::float8 as bounced, sum(complained)::float8 as complained,
         sum(failed + rejected + expired)::float8 as failed
       from statistics where template_type = '' and step = ${step} and at >= ${begin}::timestamptz and (${companyId}::uuid is null or company_id = ${companyId}::uuid)
       group by at`,
    readUncounted(db, countedUntil, companyId),
  ])
  if (!uncounted) return { nowMs, countedUntil, rows }
  return { nowMs, countedUntil: new Date(nowMs).toISOString(), rows: [...rows, ...uncounted] }
}

/** By the minute. null: there are too many. */
async function readUncounted(db: Queryable, since: string, companyId: string | null): Promise<CountedBucket[] | null> {
  const rows = await sql<CountedBucket & { read: number }>(db, 'read-uncounted-events')`
    with uncounted as materialized (
       select e.outbox_id, e.company_id, e.type, e.created_at from email_events e where e.created_at >= ${since}::timestamptz
         and e.type in ('QUEUED', 'SENT', 'DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED', 'FAILED', 'EXPIRED') limit ${MAX_UNCOUNTED_EVENTS} + 1
     ), live as (
       select e.* from uncounted e where (${companyId}::uuid is null or e.company_id = ${companyId}::uuid)
         and (select not o.test from email_outbox o where o.outbox_id = e.outbox_id)
     )
     select (extract(epoch from date_trunc('minute', created_at)) * 1000)::float8 as "atMs",
       (count(*) filter (where type = 'QUEUED'))::float8 as accepted, (count(*) filter (where type = 'SENT'))::float8 as sent,
       (count(*) filter (where type = 'DELIVERED'))::float8 as delivered, (count(*) filter (where type = 'BOUNCE'))::float8 as bounced,
       (count(*) filter (where type = 'COMPLAINT'))::float8 as complained,
       (count(*) filter (where type in ('REJECTED', 'FAILED', 'EXPIRED')))::float8 as failed, (select count(*) from uncounted)::float8 as read
     from live group by 1`
  return (rows[0]?.read ?? 0) > MAX_UNCOUNTED_EVENTS ? null : rows.map(({ read: _, ...row }) => row)
}

type TemplateFigures = { type: string; accepted: number; sent: number; failed: number; retries: number }

/** E-mails of a template that ended badly. */
export const TEMPLATE_FAILED = fragment`dead_letters + expired`

/** To the hour, and up to a minute ago. */
export async function templateStatistics(db: Queryable, companyId: string, since: string): Promise<TemplateFigures[]> {
  return sql<TemplateFigures>(db, 'template-statistics')`
    select template_type as type, sum(accepted)::float8 as accepted, sum(sent)::float8 as sent, sum(${TEMPLATE_FAILED})::float8 as failed,
       sum(retries)::float8 as retries
     from statistics where company_id = ${companyId} and template_type <> '' and step = 'hour' and at >= date_trunc('hour', ${since}::timestamptz)
     group by template_type order by template_type`
}

type RecentTemplate = { companyId: string; template: string; sent: number; failed: number }

/** Templates that failed in this hour or the one before, those that failed most first. */
export async function listFailingTemplates(db: Queryable, most: number): Promise<RecentTemplate[]> {
  return sql<RecentTemplate>(db, 'list-failing-templates')`
    select company_id, template_type as template, sum(sent)::float8 as sent, sum(${TEMPLATE_FAILED})::float8 as failed
     from statistics where template_type <> '' and step = 'hour' and at >= date_trunc('hour', now() - interval '1 hour')
     group by 1, 2 having sum(${TEMPLATE_FAILED}) > 0 order by 4 desc, 1, 2 limit ${most}`
}

/** `step`: of the statistics; minutes are kept for two hours. */
export const OVERVIEW_RANGES = {
  '1h': { seconds: 3_600, bucketSeconds: 60, step: 'minute' },
  '24h': { seconds: 86_400, bucketSeconds: 3_600, step: 'hour' },
  '7d': { seconds: 7 * 86_400, bucketSeconds: 6 * 3_600, step: 'hour' },
  '30d': { seconds: 30 * 86_400, bucketSeconds: 86_400, step: 'hour' },
} as const

export type OverviewRange = keyof typeof OVERVIEW_RANGES

export const COUNTED = ['accepted', 'sent', 'delivered', 'bounced', 'complained', 'failed'] as const

export type Counted = Record<(typeof COUNTED)[number], number>

/** `atMs`: the begin of the bucket. */
export type CountedBucket = Counted & { atMs: number }

/** The begin of the bucket that holds this moment. Buckets begin at whole multiples since 1970, days therefore at midnight UTC. */
export const bucketOf = (atMs: number, bucketSeconds: number) => atMs - (atMs % (bucketSeconds * 1000))

/** The begin of the first bucket of a range that ends now. The whole range is covered: the first and the last bucket are parts of it. */
export function rangeBegin(range: OverviewRange, nowMs: number): number {
  const { seconds, bucketSeconds } = OVERVIEW_RANGES[range]
  return bucketOf(nowMs - seconds * 1000, bucketSeconds)
}
