import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { companyQuery, queriedCompany } from '../companies/company-of-request.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { performedBy } from '../web/access.ts'
import { Problem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import { acknowledgedSchema, acknowledgeLosses, ledgerSchema, readLedger } from './ledger.ts'

export function ledgerRoutes({ db }: { db: Database }) {
  return {
    show: route(
      {
        method: 'GET',
        path: '/admin/ledger',
        access: { admin: 'viewer' },
        summary: 'The ledger: accepted = ended + waiting + unknown, per company and day, and the e-mails in no place',
        description:
          'Counted in the background, today every 20 seconds or more rarely on a large system: see countedAt.',
        query: ledgerQuery,
        response: ledgerSchema,
      },
      async ({ query: { since = null, until = null, company } }) =>
        readLedger(db.pool, { since, until, companyId: await queriedCompany(db, company) }),
    ),

    acknowledge: route(
      {
        method: 'POST',
        path: '/admin/ledger/acknowledge',
        access: { admin: 'administrator' },
        summary: 'Say why a loss that is known stays: it remains in the list, and is not counted in ledger_imbalance',
        description: 'Without a day: all that is found now.',
        body: acknowledgeBody,
        response: acknowledgedSchema,
        refusals: [404],
      },
      async ({ body: { day = null, reason } }, { principal }) => {
        const acknowledgement = { day, by: performedBy(principal), reason: maskSensitive(reason) }
        const acknowledged = await acknowledgeLosses(db.pool, acknowledgement)
        if (acknowledged.length === 0) throw new Problem('NOT_FOUND', { detail: 'There is nothing to acknowledge.' })
        return { acknowledged }
      },
    ),
  }
}

const day = z.iso
  .date('must be a day such as 2026-11-15')
  .refine(text => text >= '1970-01-01', 'must not lie before 1970-01-01')

const ledgerQuery = z.object({
  since: day.optional().describe('The first day (UTC); a week ago when absent'),
  until: day.optional().describe('The last day (UTC); today when absent'),
  company: companyQuery,
})

const acknowledgeBody = z
  .strictObject({ day: day.optional().describe('Of this day (UTC) only'), reason: justificationSchema })
  .meta({ id: 'AcknowledgeLedger', example: { day: '2026-11-15', reason: 'Deleted by hand when testing' } })
