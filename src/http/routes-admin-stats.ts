import { z } from 'zod'
import { rangeEndSchema } from '../contracts/instant.ts'
import { statsSchema } from '../contracts/kpis.ts'
import { findCompany } from '../db/companies/companies.ts'
import { readStats } from '../db/companies/statistics.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { invalidField } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

const statsQuery = z.object({
  since: rangeEndSchema.optional().describe('A week ago when absent'),
  until: rangeEndSchema.optional().describe('Now when absent'),
  company: z
    .string()
    .min(1)
    .max(100)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe('Id or name; every company when absent'),
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
    const found = company === undefined ? null : await findCompany(db.pool, company)
    if (company !== undefined && !found) throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
    return readStats(db.pool, { since: since ?? null, until: until ?? null, companyId: found?.companyId ?? null })
  })
}
