import { type CompanyStandingRow, listStandings, rateOf } from '../companies/reputation.ts'
import { listFailingTemplates } from '../companies/statistics.ts'
import { readImbalance } from '../ledger/ledger.ts'
import { DUE_SINCE, READY_HEADS } from '../outbox/claim.ts'
import { readInbox } from '../outbox/provider-events.ts'
import { listCounters, MOST_COMPANIES } from '../platform/postgres/counters.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { listProviders, type ProviderRow } from '../providers/state.ts'
import { baseRate } from '../providers/table.ts'
import { rateAfter } from '../providers/throttle.ts'
import type { Config } from '../settings/config.ts'
import { readTotals } from '../suppression/reads.ts'
import { readWebhookBacklog } from '../webhooks/deliveries.ts'
import type { RedisFigures } from './redis.ts'

/** Everything about the whole system that /metrics shows, read at one moment. */
export type SystemSnapshot = Awaited<ReturnType<typeof readSystem>>

const MOST_TEMPLATES = 100

export async function readSystem(
  config: Config,
  { pool, clock }: Database,
  countSuppressions: () => Promise<Record<string, number>>,
  readRedis: () => Promise<RedisFigures | null>,
) {
  const [counters, queue, ages, providers, fairness, queues, standings, templates] = await Promise.all([
    listCounters(pool),
    readQueueFigures(pool),
    readDeadLetterAges(pool),
    listProviders(pool, config.EMAIL_PROVIDER),
    readFairCursor(pool),
    listWaitingQueues(pool, MOST_COMPANIES),
    listStandings(pool),
    listFailingTemplates(pool, MOST_TEMPLATES),
  ])
  const [lastHour, suppressionSize, suppressions, inbox, webhooks, ledger, housekeeping, redis] = await Promise.all([
    listRecentDeadLetters(pool),
    countSuppressions(),
    readTotals(pool),
    readInbox(pool),
    readWebhookBacklog(pool),
    readImbalance(pool),
    listHousekeeping(pool),
    readRedis(),
  ])
  const waiting = queues.toSorted((a, b) => (b.oldestWaitingSeconds ?? 0) - (a.oldestWaitingSeconds ?? 0))
  return {
    counters,
    queue: { ...queue, oldestWaitingSeconds: waiting.find(({ paused }) => !paused)?.oldestWaitingSeconds ?? null },
    deadLetters: { ...ages, lastHour },
    providers: providers.map(row => providerFigures(row, config, clock.now().getTime())),
    fairness,
    companiesWaiting: waiting[0]?.companies ?? 0,
    /** Those that have waited longest. */
    waitingCompanies: waiting,
    standings: standingsToShow(standings),
    templates,
    suppressionSize,
    suppressions,
    inbox,
    webhooks,
    /** E-mails that have lost their row or their events. */
    ledgerImbalance: ledger.open,
    housekeeping,
    /** null: the gateway runs without Redis. */
    redis,
  }
}

function providerFigures(row: ProviderRow, { SEND_RATE_PER_SECOND }: Config, nowMs: number) {
  const { name, state, openedAt, slowFrom, slowTo, slowedAgoMs } = row
  const quota = baseRate(name, SEND_RATE_PER_SECOND ?? null, row.ratePerSecond)
  const slowed = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  return {
    name,
    parked: state === 'open',
    parkedSeconds: openedAt ? Math.max(0, (nowMs - openedAt.getTime()) / 1000) : 0,
    /** Recipients, or messages, a second. null: no limit is known. */
    quota: row.ratePerSecond,
    limit: quota !== null && slowed !== null ? Math.min(quota, slowed) : (slowed ?? quota),
  }
}

/** Warned and paused companies first, then those that send most. */
function standingsToShow(rows: CompanyStandingRow[]) {
  const matters = (one: CompanyStandingRow) => Number(one.pausedAt !== null || one.warnedAt !== null)
  return rows
    .filter(one => one.sent + one.bounced + one.complained > 0 || matters(one))
    .toSorted((a, b) => matters(b) - matters(a) || b.sent - a.sent)
    .slice(0, MOST_COMPANIES)
    .map(one => ({
      companyId: one.companyId,
      bounceRate: rateOf(one.bounced, one.sent),
      complaintRate: rateOf(one.complained, one.sent),
      warned: one.warnedAt !== null,
      paused: one.pausedAt !== null,
    }))
}

const upTo100000 = (table: string) => fragment`(select count(*) from (select from ${table} limit 100000) t)::int`

type QueueFigures = {
  ready: number
  scheduled: number
  workers: number
  unknown: number
  oldestUnknownSeconds: number | null
}

/** Counts up to 100 000, so that the query stays cheap with a large backlog. */
async function readQueueFigures(db: Queryable): Promise<QueueFigures> {
  const [row] = await sql<QueueFigures>(db, 'read-queue-figures')`
    select ${upTo100000('email_ready')} as ready, ${upTo100000('email_scheduled')} as scheduled,
       (select count(*) from workers where seen_at > now() - interval '15 seconds')::int as workers,
       (select count(*) from unknown_sends)::int as unknown,
       (select extract(epoch from now() - min(since))::float8 from unknown_sends) as "oldestUnknownSeconds"`
  return row!
}

type WaitingQueue = {
  companyId: string
  ready: number
  oldestWaitingSeconds: number | null
  /** Its mail waits for an administrator. */
  paused: boolean
  /** How many companies have something waiting, also those that are not listed. */
  companies: number
}

/** Up to this many ready e-mails of a company are counted. */
const MAX_COUNTED = 1_000

/**
 * The companies whose mail has waited longest, those that are paused last. Ids rise with time: the lowest one waits longest.
 */
export async function listWaitingQueues(db: Queryable, most: number): Promise<WaitingQueue[]> {
  return sql<WaitingQueue>(db, 'list-waiting-queues')`
    with recursive ${READY_HEADS}, firsts as materialized (
       select distinct on (company_id) company_id, outbox_id from heads order by company_id, outbox_id
     ), oldest as materialized (
       select company_id, outbox_id, paused_at is not null as paused, (count(*) over ())::int as companies
       from firsts join companies using (company_id) order by paused, outbox_id limit ${most}
     )
     select company_id, companies, paused,
       (select extract(epoch from now() - ${DUE_SINCE})::float8
        from email_outbox o where o.outbox_id = oldest.outbox_id limit 1) as "oldestWaitingSeconds",
       (select count(*) from (select from email_ready e where e.company_id = oldest.company_id limit ${literal(MAX_COUNTED)}) e)::int as ready
     from oldest`
}

/** The company that the claim served last, and how many of its e-mails in a row. */
async function readFairCursor(db: Queryable): Promise<{ companyId: string; consecutive: number } | null> {
  const [row] = await sql<{ companyId: string; consecutive: number }>(db, 'read-fair-cursor')`
    select company_id, run as consecutive from fair_cursor where run > 0`
  return row ?? null
}

const [HOUR, DAY] = [3_600, 86_400]

/** The upper bounds of dlq_age_seconds: an hour, six, a day, three, a week (when content is purged), thirty days. */
export const DEAD_LETTER_AGES = [HOUR, 6 * HOUR, DAY, 3 * DAY, 7 * DAY, 30 * DAY] as const

/** `youngerThan`: how many are at most so old, for each of DEAD_LETTER_AGES. */
type DeadLetterAges = { size: number; youngerThan: number[]; ageSumSeconds: number }

async function readDeadLetterAges(db: Queryable): Promise<DeadLetterAges> {
  const [row] = await sql<DeadLetterAges>(db, 'read-dead-letter-ages')`
    with ages as materialized (
       select width_bucket(extract(epoch from now() - moved_at)::float8, ${DEAD_LETTER_AGES}::float8[]) as bucket, count(*) as entries,
         sum(extract(epoch from now() - moved_at))::float8 as seconds from dead_letters group by 1
     )
     select coalesce(sum(entries), 0)::float8 as size, greatest(0, coalesce(sum(seconds), 0))::float8 as "ageSumSeconds",
       array(select coalesce((select sum(entries) from ages where bucket < nth), 0)::float8
         from generate_subscripts(${DEAD_LETTER_AGES}::float8[], 1) as nth order by nth) as "youngerThan"
     from ages`
  return row!
}

/** Of the last hour, the companies with the most first. */
async function listRecentDeadLetters(db: Queryable) {
  return sql<{ companyId: string; entries: number }>(db, 'list-recent-dead-letters')`
    select company_id, count(*)::float8 as entries from dead_letters where moved_at > now() - interval '1 hour'
     group by 1 order by 2 desc, 1 limit ${MOST_COMPANIES}`
}

type HousekeepingRun = { task: string; everySeconds: number }

/** These tasks have just ended well. In order, so that two processes cannot deadlock. */
export async function recordHousekeeping(db: Queryable, runs: HousekeepingRun[]): Promise<void> {
  await sql(db, 'record-housekeeping')`
    insert into housekeeping_runs (task, every_seconds)
     select task, "everySeconds" from json_to_recordset(${JSON.stringify(runs)}::json) as x(task text, "everySeconds" float8) order by task
     on conflict (task) do update set every_seconds = excluded.every_seconds, finished_at = now()`
}

async function listHousekeeping(db: Queryable) {
  return sql<HousekeepingRun & { finishedAtSeconds: number }>(db, 'list-housekeeping')`
    select task, every_seconds, extract(epoch from finished_at)::float8 as "finishedAtSeconds"
     from housekeeping_runs order by task`
}
