import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import {
  ADMINISTRATORS,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyQuery,
  queriedCompany,
} from '../companies/company-of-request.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { acknowledgedSchema, acknowledgeLosses, ledgerSchema, readLedger } from './ledger.ts'

const day = z.iso
  .date('must be a day such as 2026-11-15')
  .refine(text => text >= '1970-01-01', 'must not lie before 1970-01-01')

const ledgerQuery = z.object({
  since: day.optional().describe('The first day (UTC); a week ago when absent'),
  until: day.optional().describe('The last day (UTC); today when absent'),
  company: companyQuery,
})

const schema = {
  summary: 'The ledger: accepted = ended + waiting + unknown, per company and day, and the e-mails in no place',
  description: 'Counted in the background, today every 20 seconds or more rarely on a large system: see countedAt.',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  querystring: ledgerQuery,
  response: { 200: ledgerSchema, ...problemAnswers(401, 422, 429, 503) },
}

const acknowledgeBody = z
  .strictObject({ day: day.optional().describe('Of this day (UTC) only'), reason: justificationSchema })
  .meta({ id: 'AcknowledgeLedger', example: { day: '2026-11-15', reason: 'Deleted by hand when testing' } })

const acknowledgeSchema = {
  summary: 'Say why a loss that is known stays: it remains in the list, and is not counted in ledger_imbalance',
  description: 'Without a day: all that is found now.',
  ...adminDescription,
  body: acknowledgeBody,
  response: { 200: acknowledgedSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminLedgerRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/ledger', { onRequest, schema }, async request => {
    const { since, until, company } = request.query as z.output<typeof ledgerQuery>
    const companyId = await queriedCompany(db, company)
    return readLedger(db.pool, { since: since ?? null, until: until ?? null, companyId })
  })
  app.post(
    '/admin/ledger/acknowledge',
    { onRequest, config: ADMINISTRATORS, schema: acknowledgeSchema },
    async request => {
      const { day = null, reason } = request.body as z.output<typeof acknowledgeBody>
      const acknowledgement = { day, by: request.admin!, reason: maskSensitive(reason) }
      const acknowledged = await acknowledgeLosses(db.pool, acknowledgement)
      if (acknowledged.length === 0) throw new Problem('NOT_FOUND', { detail: 'There is nothing to acknowledge.' })
      return { acknowledged }
    },
  )
}
