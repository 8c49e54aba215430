import { expect, test } from 'vitest'
import { rollUpStatistics } from '../../src/companies/statistics.ts'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { emptyOutbox } from '../support/empty-outbox.ts'
import { accept, draft, workOff } from '../support/outbox.ts'

let db: Database
let companyId: string
emptyOutbox(outbox => {
  db = outbox.gateway.db
  companyId = outbox.companyId
})

const statistics = async () =>
  (
    await db.pool.query(
      `select sum(accepted)::int as accepted, sum(sent)::int as sent from statistics
       where company_id = $1 and template_type = '' and step = 'hour'`,
      [companyId],
    )
  ).rows[0]

test('the hourly statistics count each event of live e-mails once, a minute late', async () => {
  await accept(db.short, [draft(companyId), draft(companyId), draft(companyId, { test: true })])
  await workOff(db.short)
  await db.pool.query(`update statistics_cursor set counted_until = now() - interval '5 minutes'`)
  await rollUpStatistics(db.pool)
  expect(await statistics(), 'younger than a minute').toEqual({ accepted: null, sent: null })
  await db.pool.query(`update email_events set created_at = created_at - interval '2 minutes';
    update statistics_cursor set counted_until = now() - interval '5 minutes'`)
  await Promise.all([rollUpStatistics(db.pool), rollUpStatistics(db.pool)])
  await rollUpStatistics(db.pool)
  expect(await statistics()).toEqual({ accepted: 2, sent: 2 })
})
