import { z } from 'zod'
import { rangeEndSchema } from '../contracts/instant.ts'
import { statsSchema } from '../contracts/kpis.ts'
import { readStats } from '../db/statistics.ts'
import { companyQuery, queriedCompany } from './admin-company.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

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
