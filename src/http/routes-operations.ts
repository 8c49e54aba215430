import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { rateOf } from '../contracts/reputation.ts'
import { listStandings } from '../db/companies/reputation.ts'
import { listSendRequests } from '../db/companies/send-requests.ts'
import { listCounters } from '../db/counters.ts'
import { FULL_BYTES, findDiskProblem, NEEDED_BYTES } from '../db/embedded/disk.ts'
import { readInbox } from '../db/feedback/provider-events.ts'
import { readHealth } from '../db/health.ts'
import { ledgerImbalance } from '../db/ledger/read.ts'
import type { Database } from '../db/pool.ts'
import { listProviders } from '../db/providers.ts'
import { type ActiveCounts, countActive, readTotals } from '../db/suppression/stats.ts'
import { readWebhookBacklog } from '../db/webhooks/deliveries.ts'
import { cachedQuery } from '../runtime/cached-query.ts'
import { type MetricsSnapshot, makeMetrics } from '../telemetry/metrics.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'

const healthSchema = z.object({ status: z.literal('ok') })
const unauthenticated = { tags: ['Operations'], security: [] }

/** Counting a million entries takes about 100 ms, too long for every scrape. */
const SIZE_CACHE_MS = 30_000

async function snapshot(
  db: Database,
  names: string[],
  countSuppressions: () => Promise<ActiveCounts>,
): Promise<MetricsSnapshot> {
  const [health, counters, rows, sendRequests, suppressionSize, suppressions, inbox, companies, webhooks, imbalance] =
    await Promise.all([
      readHealth(db.pool),
      listCounters(db.pool),
      listProviders(db.pool, names),
      listSendRequests(db.pool),
      countSuppressions(),
      readTotals(db.pool),
      readInbox(db.pool),
      listStandings(db.pool),
      readWebhookBacklog(db.pool),
      ledgerImbalance(db.pool),
    ])
  const providers = rows.map(row => ({ name: row.name, open: row.state === 'open' }))
  const standings = companies
    .filter(one => one.sent + one.bounced + one.complained > 0 || one.warnedAt || one.pausedAt)
    .map(one => ({
      companyId: one.companyId,
      bounceRate: rateOf(one.bounced, one.sent),
      complaintRate: rateOf(one.complained, one.sent),
      warned: one.warnedAt !== null,
      paused: one.pausedAt !== null,
    }))
  return {
    ...health,
    counters,
    providers,
    sendRequests,
    suppressionSize,
    suppressions,
    inbox,
    standings,
    webhooks,
    imbalance,
  }
}

export type OperationRouteDeps = {
  db: Database
  providers: string[]
  metricsToken?: string | undefined
  /** Data folder of the embedded database, whose disk may be full; null for another Postgres. */
  folder: string | null
}

export function operationRoutes(app: App, { db, providers, metricsToken, folder }: OperationRouteDeps): void {
  const countSuppressions = cachedQuery(SIZE_CACHE_MS, () => countActive(db.pool))
  const metrics = makeMetrics(() => snapshot(db, providers, countSuppressions))

  app.get('/', { schema: { hide: true } }, async (_request, reply) => reply.redirect('/docs'))

  app.get(
    '/health/live',
    { schema: { summary: 'The process answers', ...unauthenticated, response: { 200: healthSchema } } },
    async () => ({ status: 'ok' as const }),
  )

  app.get(
    '/health/ready',
    {
      schema: {
        summary: 'It can accept e-mails',
        ...unauthenticated,
        response: { 200: healthSchema, ...problemAnswers(503) },
      },
    },
    async () => {
      const isAnswering = await db.isAnswering()
      // A server whose disk is full still answers queries.
      const problem = folder && (await findDiskProblem(folder, isAnswering ? FULL_BYTES : NEEDED_BYTES))
      if (isAnswering && !problem) return { status: 'ok' as const }
      const detail = problem || 'Postgres did not answer in time; nothing can be accepted.'
      throw new Problem('DATABASE_UNAVAILABLE', { detail, headers: { 'retry-after': '1' } })
    },
  )

  app.get(
    '/metrics',
    {
      ...(metricsToken !== undefined && { onRequest: requireToken(metricsToken) }),
      schema: {
        summary: 'For Prometheus; with METRICS_TOKEN set, needs it as Authorization: Bearer',
        ...unauthenticated,
        produces: ['text/plain'],
        response: { 200: z.string(), ...problemAnswers(401, 503) },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}

/** timingSafeEqual needs equal lengths, and digests also hide the length of the token. */
function requireToken(token: string) {
  const expected = digest(token)
  return async (request: FastifyRequest): Promise<void> => {
    const [, given = ''] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
    if (!timingSafeEqual(digest(given), expected))
      throw new Problem('METRICS_UNAUTHENTICATED', { headers: { 'www-authenticate': 'Bearer realm="metrics"' } })
  }
}

const digest = (text: string) => createHash('sha256').update(text).digest()
