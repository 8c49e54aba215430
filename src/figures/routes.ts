import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { companyQuery, queriedCompany } from '../companies/company-of-request.ts'
import { readStats, statsSchema } from '../companies/statistics.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { route } from '../web/route.ts'
import {
  listChangedEmails,
  liveSchema,
  OVERVIEW_RANGE_NAMES,
  type Overview,
  overviewSchema,
  readOverview,
  readQueue,
} from './overview.ts'

/** Many administrators may look at the same figures: they are read once a second at most. */
const CACHE_MS = 1_000
const MAX_CACHED = 200

export function figureRoutes({ db, providers }: { db: Database; providers: string[] }) {
  const overviews = new LRUCache<string, () => Promise<Overview>>({ max: MAX_CACHED })
  const readBoth = async () => {
    const [queue, emails] = await Promise.all([readQueue(db.pool), listChangedEmails(db.pool)])
    return { queue, emails }
  }
  // A slow database is asked less often, but within the ten seconds for which a change is listed.
  const readLive = cachedQuery(CACHE_MS, readBoth, { maxShare: 1 / 4 })

  return {
    overview: route(
      {
        method: 'GET',
        path: '/admin/overview',
        access: { admin: 'viewer' },
        summary: 'Is it healthy? E-mails over time, what waits, the providers, and what needs attention',
        query: z.object({ range: z.enum(OVERVIEW_RANGE_NAMES).default('24h'), company: companyQuery }),
        response: overviewSchema,
      },
      async ({ query: { range, company } }) => {
        const companyId = await queriedCompany(db, company)
        const key = `${range} ${companyId}`
        const read = overviews.get(key) ?? cachedQuery(CACHE_MS, () => readOverview(db, providers, range, companyId))
        overviews.set(key, read)
        return read()
      },
    ),

    live: route(
      {
        method: 'GET',
        path: '/admin/live',
        access: { admin: 'viewer' },
        summary:
          'Counts of the queue and e-mails that have just changed; open pages of the admin UI ask every two seconds',
        response: liveSchema,
      },
      () => readLive(),
    ),

    stats: route(
      {
        method: 'GET',
        path: '/admin/stats',
        access: { admin: 'viewer' },
        summary: 'The KPIs of the e-mails accepted in a range: delivered, how fast, recovered, failed',
        query: z.object({
          since: rangeEndSchema.optional().describe('A week ago when absent'),
          until: rangeEndSchema.optional().describe('Now when absent'),
          company: companyQuery,
        }),
        response: statsSchema,
      },
      async ({ query: { since = null, until = null, company } }) =>
        readStats(db.pool, { since, until, companyId: await queriedCompany(db, company) }),
    ),
  }
}
