import { z } from 'zod'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import type { App } from '../web/server.ts'
import { listCompanies } from './companies.ts'
import { adminDescription, adminRefusals, companyParams, knownCompany } from './company-of-request.ts'
import { type ActivityStep, readActivity, readCountedUntil } from './statistics.ts'
import { describeTurns, fairnessSchema, listQueues, listServed, readLastServed } from './turns.ts'

/** How far back the attempts are counted. */
const WINDOW_SECONDS = 300
const FAIRNESS_CACHE_MS = 2_000

/** One step more than the range has: the first and the last one are parts of it. */
const RANGES = {
  '24h': { step: 'hour', count: 25 },
  '7d': { step: 'hour', count: 169 },
  '30d': { step: 'day', count: 31 },
} as const satisfies Record<string, { step: ActivityStep; count: number }>

const count = z.int()
const activitySchema = z
  .object({
    step: z.enum(['hour', 'day']).describe('What one entry of data stands for; days are those of UTC'),
    countedUntil: z.iso.datetime().describe('Later events are not counted yet'),
    data: z.array(
      z.object({
        at: z.iso.datetime().describe('Its beginning'),
        requests: count.describe('Recipients that were asked for, also suppressed ones'),
        suppressed: count.describe('Recipients'),
        accepted: count.describe('E-mails'),
        sent: count.describe('E-mails'),
        delivered: count.describe('Recipients: an e-mail may have several'),
        bounced: count.describe('Recipients'),
        complained: count.describe('Recipients'),
        rejected: count.describe('E-mails'),
        failed: count.describe('E-mails'),
        expired: count.describe('E-mails'),
      }),
    ),
  })
  .meta({ id: 'CompanyActivity' })
const activityQuery = z.object({ range: z.enum(Object.keys(RANGES) as (keyof typeof RANGES)[]).default('24h') })
const activityRouteSchema = {
  summary: 'What became of the e-mails of a company, per hour or day',
  ...adminDescription,
  params: companyParams,
  querystring: activityQuery,
  response: { 200: activitySchema, ...adminRefusals },
}
const fairnessQuery = z.object({
  company: z.uuid().optional().describe('Is part of the answer also when it is idle'),
  limit: z.coerce.number().int().min(1).max(1000).default(50),
})
const fairnessRouteSchema = {
  summary: 'Who is served how often, and who waits how long',
  ...adminDescription,
  querystring: fairnessQuery,
  response: { 200: fairnessSchema, ...adminRefusals },
}

export function adminCompanyFigureRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  const readTurns = cachedQuery(FAIRNESS_CACHE_MS, () => queryTurns(db))

  app.get('/admin/companies/:companyId/activity', { onRequest, schema: activityRouteSchema }, async request => {
    const { companyId } = await knownCompany(request, db)
    const range = RANGES[(request.query as z.output<typeof activityQuery>).range]
    const [data, countedUntil] = await Promise.all([readActivity(db.pool, companyId, range), readCountedUntil(db.pool)])
    return { step: range.step, countedUntil, data }
  })
  app.get('/admin/fairness', { onRequest, schema: fairnessRouteSchema }, async request => {
    const { company = null, limit } = request.query as z.output<typeof fairnessQuery>
    const { at, lastServed, companies } = await readTurns()
    const { data, ...figures } = describeTurns(companies, company)
    const shown = data.filter((one, index) => index < limit || one.companyId === company)
    return { at, windowSeconds: WINDOW_SECONDS, lastServed, ...figures, data: shown }
  })
}

async function queryTurns(db: Database) {
  const [companies, queues, served, lastServed] = await Promise.all([
    listCompanies(db.pool),
    listQueues(db.pool),
    listServed(db.pool, WINDOW_SECONDS),
    readLastServed(db.pool),
  ])
  const queueOf = new Map(queues.map(queue => [queue.companyId, queue]))
  const attemptsOf = new Map(served.map(one => [one.companyId, one.attempts]))
  const turns = companies.map(({ companyId, name, weight, ratePerSecond, pausedAt }) => ({
    companyId,
    name,
    weight,
    ratePerSecond,
    paused: pausedAt !== null,
    ready: queueOf.get(companyId)?.ready ?? 0,
    oldestWaitingSeconds: queueOf.get(companyId)?.oldestWaitingSeconds ?? null,
    attempts: attemptsOf.get(companyId) ?? 0,
  }))
  return { at: db.clock.now().toISOString(), lastServed, companies: turns }
}
