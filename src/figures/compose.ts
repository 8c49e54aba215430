import { type CompanyStandingRow, listStandings, rateOf } from '../companies/reputation.ts'
import { listFailingTemplates } from '../companies/statistics.ts'
import { readImbalance } from '../ledger/ledger.ts'
import { readInbox } from '../outbox/provider-events.ts'
import { cachedQuery } from '../platform/cache.ts'
import { listCounters, MOST_COMPANIES } from '../platform/postgres/counters.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import { listProviders, type ProviderRow } from '../providers/state.ts'
import { baseRate } from '../providers/table.ts'
import { rateAfter } from '../providers/throttle.ts'
import type { Config } from '../settings/config.ts'
import { countActive, readTotals } from '../suppression/reads.ts'
import { readWebhookBacklog } from '../webhooks/deliveries.ts'
import { DEAD_LETTER_AGES, listRecentDeadLetters, readDeadLetterAges } from './dead-letters.ts'
import { listHousekeeping } from './housekeeping.ts'
import type { ProviderFigures, RedisFigures, Standing, SystemSnapshot } from './metric.ts'
import { type Metrics, makeMetrics } from './metrics.ts'
import { listWaitingQueues, readFairCursor, readQueueFigures } from './system-queue.ts'

const MOST_TEMPLATES = 100
/** Counting a million entries takes about 100 ms, too long for every scrape. */
const SIZE_CACHE_MS = 30_000

/** /metrics of this process. `close` ends its connection to Redis. */
export async function composeMetrics(
  config: Config,
  db: Database,
  figures: ProcessFigures,
): Promise<{ metrics: Metrics; close: () => void }> {
  // Loaded where it is used: ioredis would make every start longer.
  const redis = config.REDIS_URL
    ? (await import('./redis.ts')).redisFigures(config.REDIS_URL)
    : { read: async () => null, close: () => {} }
  const countSuppressions = cachedQuery(SIZE_CACHE_MS, () => countActive(db.pool))
  const metrics = makeMetrics(() => readSystem(config, db, countSuppressions, redis.read), figures)
  return { metrics, close: redis.close }
}

async function readSystem(
  config: Config,
  { pool, clock }: Database,
  countSuppressions: () => Promise<Record<string, number>>,
  readRedis: () => Promise<RedisFigures | null>,
): Promise<SystemSnapshot> {
  const [counters, queue, deadLetters, providers, fairness, queues, standings, templates] = await Promise.all([
    listCounters(pool),
    readQueueFigures(pool),
    readDeadLetters(pool),
    listProviders(pool, config.EMAIL_PROVIDER),
    readFairCursor(pool),
    listWaitingQueues(pool, MOST_COMPANIES),
    listStandings(pool),
    listFailingTemplates(pool, MOST_TEMPLATES),
  ])
  const [suppressionSize, suppressions, inbox, webhooks, ledger, housekeeping, redis] = await Promise.all([
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
    queue: { ...queue, oldestWaitingSeconds: waiting.find(one => !one.paused)?.oldestWaitingSeconds ?? null },
    deadLetters,
    providers: providers.map(row => providerFigures(row, config, clock.now().getTime())),
    fairness,
    companiesWaiting: waiting[0]?.companies ?? 0,
    waitingCompanies: waiting,
    standings: standingsToShow(standings),
    templates,
    suppressionSize,
    suppressions,
    inbox,
    webhooks,
    ledgerImbalance: ledger.open,
    housekeeping,
    redis,
  }
}

async function readDeadLetters(pool: Database['pool']): Promise<SystemSnapshot['deadLetters']> {
  const [ages, lastHour] = await Promise.all([
    readDeadLetterAges(pool, DEAD_LETTER_AGES),
    listRecentDeadLetters(pool, MOST_COMPANIES),
  ])
  return { ...ages, lastHour }
}

function providerFigures(row: ProviderRow, { SEND_RATE_PER_SECOND }: Config, nowMs: number): ProviderFigures {
  const { name, state, openedAt, slowFrom, slowTo, slowedAgoMs } = row
  const quota = baseRate(name, SEND_RATE_PER_SECOND ?? null, row.ratePerSecond)
  const slowed = slowedAgoMs === null ? null : rateAfter({ from: slowFrom!, to: slowTo!, agoMs: slowedAgoMs })
  return {
    name,
    parked: state === 'open',
    parkedSeconds: openedAt ? Math.max(0, (nowMs - openedAt.getTime()) / 1000) : 0,
    quota: row.ratePerSecond,
    limit: quota !== null && slowed !== null ? Math.min(quota, slowed) : (slowed ?? quota),
  }
}

/** Warned and paused companies first, then those that send most. */
function standingsToShow(rows: CompanyStandingRow[]): Standing[] {
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
