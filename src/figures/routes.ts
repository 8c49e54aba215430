import { z } from 'zod'
import { companyQuery, queriedCompany } from '../companies/company-of-request.ts'
import { readStats, statsSchema } from '../companies/statistics.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import type { App } from '../web/server.ts'

const statsQuery = z.object({
  since: rangeEndSchema.optional().describe('A week ago when absent'),
  until: rangeEndSchema.optional().describe('Now when absent'),
  company: companyQuery,
})

const schema = {
  summary: 'The KPIs of the e-mails accepted in a range: delivered, how fast, recovered, failed',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  querystring: statsQuery,
  response: { 200: statsSchema, ...problemAnswers(401, 422, 429, 503) },
}

export function adminStatsRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/stats', { onRequest, schema }, async request => {
    const { since, until, company } = request.query as z.output<typeof statsQuery>
    const companyId = await queriedCompany(db, company)
    return readStats(db.pool, { since: since ?? null, until: until ?? null, companyId })
  })
}
