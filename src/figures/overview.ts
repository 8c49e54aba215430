import { z } from 'zod'
import {
  bucketOf,
  COUNTED,
  type Counted,
  type CountedBucket,
  OVERVIEW_RANGES,
  type OverviewRange,
  rangeBegin,
  readSeries,
} from '../companies/statistics.ts'
import { DUE_SINCE, READY_HEADS } from '../outbox/claim.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { listProviders, type ProviderRow } from '../providers/state.ts'
import { rateAfter } from '../providers/throttle.ts'
import { countWorkers } from '../settings/workers.ts'

export const OVERVIEW_RANGE_NAMES = Object.keys(OVERVIEW_RANGES) as [OverviewRange, ...OverviewRange[]]

const ATTENTION_KINDS = [
  'ledger-imbalance',
  'dead-letters',
  'provider-parked',
  'no-worker',
  'waiting-long',
  'unknown-sends',
  'company-paused',
  'company-warned',
  'webhooks-disabled',
] as const

const instant = z.iso.datetime()
const count = z.int()
const counted = {
  accepted: count.describe('E-mails'),
  sent: count.describe('E-mails'),
  delivered: count.describe('Recipients: an e-mail may have several'),
  bounced: count.describe('Recipients'),
  complained: count.describe('Recipients'),
  failed: count.describe('E-mails that failed, were rejected or expired'),
}

const queueSchema = z
  .object({
    ready: count,
    held: count.describe('Those of the ready ones whose company is paused'),
    scheduled: count,
    unknown: count,
    oldestWaitingSeconds: z
      .number()
      .nullable()
      .describe('Of the ready e-mails that are not held, since it was due; null: there is none'),
    deadLetters: count.describe('Those that can still be replayed'),
  })
  .describe('Each counted up to 100 000')
  .meta({ id: 'QueueCounts' })

export const overviewSchema = z
  .object({
    range: z.object({
      from: instant.describe('The begin of the first bucket, so that the whole range is covered'),
      to: instant,
      bucketSeconds: count,
    }),
    countedUntil: instant.describe('The series and totals hold everything up to this moment'),
    series: z.array(z.object({ at: instant, ...counted })).describe('Events of live e-mails, oldest bucket first'),
    totals: z.object(counted),
    queue: queueSchema,
    providers: z.array(
      z.object({
        name: z.string(),
        state: z
          .enum(['healthy', 'parked', 'open'])
          .describe('parked: its mail waits until nextProbeAt; open: the next e-mail tries it'),
        reason: z.string().nullable(),
        nextProbeAt: instant.nullable(),
        ratePerSecond: z.number().describe('Attempts, over the last ten seconds'),
        maxPerSecond: z.number().nullable().describe('What it allows; null: no limit is known'),
      }),
    ),
    attention: z.array(
      z.object({
        kind: z.enum(ATTENTION_KINDS),
        count,
        since: instant.nullable(),
        code: z.string().nullable().describe('An error code, the name of a provider, or why'),
        companyId: z.uuid().nullable(),
        companyName: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'Overview' })

export const liveSchema = z
  .object({
    queue: queueSchema,
    emails: z
      .array(z.object({ outboxId: z.uuid(), companyId: z.uuid(), status: z.enum(EMAIL_STATUSES) }))
      .describe('E-mails with an event in the last ten seconds, newest first, 100 at most'),
  })
  .meta({ id: 'LiveFigures' })

export type Overview = z.output<typeof overviewSchema>
type LiveFigures = z.output<typeof liveSchema>
type QueueCounts = z.output<typeof queueSchema>
type Attention = Overview['attention'][number]

const NOTHING: Counted = { accepted: 0, sent: 0, delivered: 0, bounced: 0, complained: 0, failed: 0 }

/** Every bucket of the range, also those without a row; and the sums. */
export function fillSeries(
  range: OverviewRange,
  nowMs: number,
  rows: CountedBucket[],
): Pick<Overview, 'series' | 'totals'> {
  const { bucketSeconds } = OVERVIEW_RANGES[range]
  const byBegin = new Map<number, Counted>()
  for (const { atMs, ...figures } of rows) {
    const begin = bucketOf(atMs, bucketSeconds)
    byBegin.set(begin, sum(byBegin.get(begin) ?? NOTHING, figures))
  }
  const series: Overview['series'] = []
  for (let begin = rangeBegin(range, nowMs); begin <= nowMs; begin += bucketSeconds * 1000)
    series.push({ at: new Date(begin).toISOString(), ...(byBegin.get(begin) ?? NOTHING) })
  return { series, totals: series.reduce<Counted>((total, { at: _, ...one }) => sum(total, one), NOTHING) }
}

const sum = (a: Counted, b: Counted) =>
  Object.fromEntries(COUNTED.map(name => [name, a[name] + b[name]])) as unknown as Counted

/** Longer than any retry of the queue takes when everything works. */
const WAITING_LONG_SECONDS = 300

/** companyId null: of every company. */
export async function readOverview(
  db: Database,
  names: string[],
  range: OverviewRange,
  companyId: string | null,
): Promise<Overview> {
  const [series, queue, rows, rates, workers, attention] = await Promise.all([
    readSeries(db.pool, range, companyId),
    readQueue(db.pool),
    listProviders(db.pool, names),
    readSendRates(db.pool),
    countWorkers(db.pool),
    listAttention(db.pool, companyId),
  ])
  const { series: buckets, totals } = fillSeries(range, series.nowMs, series.rows)
  const providers = rows.map(row => providerView(row, rates.get(row.name) ?? 0, series.nowMs))
  return {
    range: {
      from: buckets[0]!.at,
      to: new Date(series.nowMs).toISOString(),
      bucketSeconds: OVERVIEW_RANGES[range].bucketSeconds,
    },
    countedUntil: series.countedUntil,
    series: buckets,
    totals,
    queue,
    providers,
    attention: [...providerAttention(rows), ...queueAttention(queue, workers, series.nowMs), ...attention],
  }
}

function providerView(row: ProviderRow, ratePerSecond: number, nowMs: number): Overview['providers'][number] {
  const isOpen = row.state === 'open'
  const slowed =
    row.slowFrom === null || row.slowTo === null || row.slowedAgoMs === null
      ? null
      : rateAfter({ from: row.slowFrom, to: row.slowTo, agoMs: row.slowedAgoMs })
  const limits = [row.ratePerSecond, slowed].filter(one => one !== null)
  return {
    name: row.name,
    state: !isOpen ? 'healthy' : (row.probeInMs ?? 0) > 0 ? 'parked' : 'open',
    reason: row.reason,
    nextProbeAt: isOpen && row.probeInMs !== null ? new Date(nowMs + row.probeInMs).toISOString() : null,
    ratePerSecond,
    maxPerSecond: limits.length > 0 ? Math.min(...limits) : null,
  }
}

const NO_COMPANY = { companyId: null, companyName: null }

function providerAttention(rows: ProviderRow[]): Attention[] {
  return rows
    .filter(row => row.state === 'open')
    .map(row => ({
      kind: 'provider-parked',
      count: 1,
      since: row.openedAt?.toISOString() ?? null,
      code: row.name,
      ...NO_COMPANY,
    }))
}

/** What a paused company holds back waits for an administrator, and the company is in the list itself. */
function queueAttention({ ready, held, unknown, oldestWaitingSeconds }: QueueCounts, workers: number, nowMs: number) {
  const found: Attention[] = []
  const waitedSince = new Date(nowMs - (oldestWaitingSeconds ?? 0) * 1000).toISOString()
  if (workers === 0 && ready > 0)
    found.push({ kind: 'no-worker', count: ready, since: waitedSince, code: null, ...NO_COMPANY })
  else if ((oldestWaitingSeconds ?? 0) > WAITING_LONG_SECONDS)
    found.push({
      kind: 'waiting-long',
      count: Math.max(1, ready - held),
      since: waitedSince,
      code: null,
      ...NO_COMPANY,
    })
  if (unknown > 0) found.push({ kind: 'unknown-sends', count: unknown, since: null, code: null, ...NO_COMPANY })
  return found
}

/** Dead letters are grouped over the newest of them, so that the query stays cheap whatever happened. */
const MAX_DEAD_LETTERS = 5_000
const MAX_ROWS = 50

/** What somebody should look at, without what the queue and the providers already show. companyId null: of every company. */
async function listAttention(db: Queryable, companyId: string | null): Promise<Attention[]> {
  return sql<Attention>(db, 'list-attention')`
    select a.kind, a.count, ${iso('a.since')} as since, a.code, a.company_id, c.name as "companyName" from (
       (select 'dead-letters' as kind, count(*)::int as count, min(moved_at) as since, last_failure_code as code, company_id
        from (select moved_at, last_failure_code, company_id from dead_letters
          where original_data is not null and moved_at > now() - interval '24 hours' order by moved_at desc limit ${literal(MAX_DEAD_LETTERS)}) d
        group by last_failure_code, company_id)
       union all
       (select 'company-paused', 1, paused_at, pause_reason, company_id from companies where paused_at is not null limit ${literal(MAX_ROWS)})
       union all
       (select 'company-warned', 1, warned_at, warn_reason, company_id from companies where warned_at is not null limit ${literal(MAX_ROWS)})
       union all
       (select 'webhooks-disabled', count(*)::int, min(disabled_at), min(disabled_reason), company_id from webhook_endpoints
        where disabled_reason in ('GONE', 'FAILING') group by company_id limit ${literal(MAX_ROWS)})
       union all
       (select 'ledger-imbalance', sum(imbalance - acknowledged)::int, min(day)::timestamp at time zone 'UTC', null, null::uuid from ledger
        where imbalance > 0 and imbalance > acknowledged having count(*) > 0)
     ) a left join companies c using (company_id)
     where ${companyId}::uuid is null or a.company_id = ${companyId}::uuid order by a.kind <> 'ledger-imbalance', a.kind, a.count desc, a.since limit ${literal(MAX_ROWS)}`
}

/**
 * Pages ask every two seconds, get an answer that is a second or two old, and may miss one. A transaction writes its events with the
 * time of its begin and commits later.
 */
const WINDOW = fragment`interval '10 seconds'`
/** Above a thousand events a second, the newest come a few seconds later. */
const MAX_EVENTS = 10_000
/** More than a page of the list has. */
const MAX_EMAILS = 100

/**
 * E-mails with events in the last seconds, the newest first. What moves is read, and not what is kept: with a year of daily partitions
 * 183 blocks while nothing moves (2 M e-mails), 604 at 100 e-mails a second (explain (analyze, buffers), 2026-11-19).
 */
export function listChangedEmails(db: Queryable): Promise<LiveFigures['emails']> {
  return sql<LiveFigures['emails'][number]>(db, 'list-changed-emails')`
    with recent as materialized (
       select e.outbox_id from email_events e where e.created_at >= now() - ${WINDOW} limit ${literal(MAX_EVENTS)}
     ), changed as materialized (
       select distinct outbox_id from recent order by outbox_id desc limit ${literal(MAX_EMAILS)}
     )
     select o.outbox_id, o.company_id, o.status
     from changed cross join lateral (select * from email_outbox o where o.outbox_id = changed.outbox_id limit 1) o
     order by o.outbox_id desc`
}

const upTo100000 = (rows: string) => fragment`(select count(*) from (select ${rows} limit 100000) t)::int`

/**
 * Asked every two seconds while somebody looks. The oldest is searched among the first of each company and priority: ids rise with
 * time. What a paused company holds back waits for an administrator.
 */
export async function readQueue(db: Queryable): Promise<QueueCounts> {
  const [row] = await sql<QueueCounts>(db, 'read-queue')`
    with recursive ${READY_HEADS}, oldest as materialized (
       select outbox_id from heads where company_id not in (select company_id from companies where paused_at is not null)
       order by outbox_id limit 100)
     select ${upTo100000('from email_ready')} as ready,
       ${upTo100000('from companies c join email_ready r using (company_id) where c.paused_at is not null')} as held, ${upTo100000('from email_scheduled')} as scheduled,
       ${upTo100000('from unknown_sends')} as unknown, ${upTo100000('from dead_letters where original_data is not null')} as "deadLetters",
       (select greatest(0, extract(epoch from now() - due_at))::float8 from (
          select min(${DUE_SINCE}) as due_at
          from oldest cross join lateral (select o.next_attempt_at, o.expires_at from email_outbox o where o.outbox_id = oldest.outbox_id limit 1) o
        ) t where due_at is not null) as "oldestWaitingSeconds"`
  return row!
}

const RATE_SECONDS = 10

/** Attempts a second that each provider was called for lately; those without any are not in the answer. */
async function readSendRates(db: Queryable): Promise<Map<string, number>> {
  const rows = await sql<{ provider: string; count: number }>(db, 'read-send-rates')`
    select provider, count(*)::int as count from (
       select metadata ->> 'provider' as provider from email_events
       where type = 'SENT_ATTEMPT' and created_at > now() - ${RATE_SECONDS} * interval '1 second' limit 50000) started
     where provider is not null group by provider`
  return new Map(rows.map(({ provider, count }) => [provider, count / RATE_SECONDS]))
}
