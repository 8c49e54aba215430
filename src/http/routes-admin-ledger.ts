import { z } from 'zod'
import { ledgerSchema } from '../contracts/ledger.ts'
import { findCompany } from '../db/companies/companies.ts'
import { readLedger } from '../db/ledger/read.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { invalidField } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

const day = z.iso
  .date('must be a day such as 2026-11-15')
  .refine(text => text >= '1970-01-01', 'must not lie before 1970-01-01')

const ledgerQuery = z.object({
  since: day.optional().describe('The first day (UTC); a week ago when absent'),
  until: day.optional().describe('The last day (UTC); today when absent'),
  company: z
    .string()
    .min(1)
    .max(100)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe('Id or name; every company when absent'),
})

const schema = {
  summary: 'The ledger: accepted = ended + waiting + unknown, per company and day, and what does not agree',
  description:
    'Counted in the background, open hours every 20 seconds or more rarely on a large system: see countedAt.',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  querystring: ledgerQuery,
  response: { 200: ledgerSchema, ...problemAnswers(401, 422, 429, 503) },
}

export function adminLedgerRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/ledger', { onRequest, schema }, async request => {
    const { since, until, company } = request.query as z.output<typeof ledgerQuery>
    const found = company === undefined ? null : await findCompany(db.pool, company)
    if (company !== undefined && !found) throw invalidField('company', 'there is no such company', 'INVALID_VALUE')
    return readLedger(db.pool, { since: since ?? null, until: until ?? null, companyId: found?.companyId ?? null })
  })
}
