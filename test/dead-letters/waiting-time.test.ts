import { afterAll, beforeAll, expect, test } from 'vitest'
import { listQueues } from '../../src/companies/turns.ts'
import { readQueue } from '../../src/figures/queue.ts'
import { listWaitingQueues } from '../../src/figures/system-queue.ts'
import { readHealth } from '../../src/operations/doctor/work.ts'
import { replayByIds } from '../../src/outbox/dead-letters.ts'
import { makeDead } from '../support/dead.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
})
afterAll(() => gateway?.stop())

test('a replayed dead letter waits since its replay, in every figure', async () => {
  const { pool } = gateway.db
  const { companyId } = await gateway.company({ name: 'acme' })
  const ids = await makeDead(pool, companyId, 3, { agoSeconds: 3_600 })
  await pool.query(`update email_outbox set created_at = now() - interval '2 hours' where company_id = $1`, [companyId])
  await replayByIds(pool, ids, 'ana')
  // The replay itself was ten minutes ago.
  await pool.query(`update email_outbox set expires_at = expires_at - interval '10 minutes' where company_id = $1`, [
    companyId,
  ])
  const [overview, health, [company], [metric]] = await Promise.all([
    readQueue(pool),
    readHealth(pool),
    listQueues(pool),
    listWaitingQueues(pool, 10),
  ])
  for (const { oldestWaitingSeconds } of [overview, health, company!, metric!]) {
    expect(oldestWaitingSeconds).toBeGreaterThanOrEqual(600)
    expect(oldestWaitingSeconds).toBeLessThan(700)
  }
})
