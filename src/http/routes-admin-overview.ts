import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  type Attention,
  fillSeries,
  liveSchema,
  OVERVIEW_RANGE_NAMES,
  OVERVIEW_RANGES,
  type Overview,
  type OverviewRange,
  overviewSchema,
  type QueueCounts,
} from '../contracts/admin/overview.ts'
import { rateAfter } from '../contracts/slowdown.ts'
import { listAttention } from '../db/admin/attention.ts'
import { listChangedEmails } from '../db/admin/changed-emails.ts'
import { readQueue, readSendRates } from '../db/admin/queue.ts'
import type { Database } from '../db/pool.ts'
import { listProviders, type ProviderRow } from '../db/providers.ts'
import { readSeries } from '../db/statistics.ts'
import { countWorkers } from '../db/workers.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import { companyQuery, queriedCompany } from './admin-company.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

/** Many administrators may look at the same figures: they are read once a second at most. */
const CACHE_MS = 1_000
const MAX_CACHED = 200
/** Longer than any retry of the queue takes when everything works. */
const WAITING_LONG_SECONDS = 300

const overviewQuery = z.object({
  range: z.enum(OVERVIEW_RANGE_NAMES).default('24h'),
  company: companyQuery,
})

const schema = {
  summary: 'Is it healthy? E-mails over time, what waits, the providers, and what needs attention',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  querystring: overviewQuery,
  response: { 200: overviewSchema, ...problemAnswers(401, 422, 429, 503) },
}

const liveRouteSchema = {
  summary: 'Counts of the queue and e-mails that have just changed; open pages of the admin UI ask every two seconds',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  response: { 200: liveSchema, ...problemAnswers(401, 429, 503) },
}

export type OverviewDeps = AdminRouteDeps & { providers: string[] }

export function adminOverviewRoutes(app: App, { db, onRequest, providers }: OverviewDeps): void {
  const cached = new LRUCache<string, () => Promise<Overview>>({ max: MAX_CACHED })

  app.get('/admin/overview', { onRequest, schema }, async request => {
    const { range, company } = request.query as z.output<typeof overviewQuery>
    const companyId = await queriedCompany(db, company)
    const key = `${range} ${companyId}`
    const read = cached.get(key) ?? cachedQuery(CACHE_MS, () => readOverview(db, providers, range, companyId))
    cached.set(key, read)
    return read()
  })

  const readBoth = async () => {
    const [queue, emails] = await Promise.all([readQueue(db.pool), listChangedEmails(db.pool)])
    return { queue, emails }
  }
  // A slow database is asked less often, but within the ten seconds for which a change is listed.
  const readLive = cachedQuery(CACHE_MS, readBoth, { maxShare: 1 / 4 })
  app.get('/admin/live', { onRequest, schema: liveRouteSchema }, readLive)
}

async function readOverview(
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
