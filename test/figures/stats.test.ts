import { afterAll, expect, test } from 'vitest'
import { readStats, rollUpStatistics } from '../../src/companies/statistics.ts'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { cliOn } from '../support/cli.ts'
import { emptyOutbox } from '../support/empty-outbox.ts'
import { accept, draft } from '../support/outbox.ts'
import { cleanUp } from '../support/process.ts'

afterAll(cleanUp)
let db: Database
let url: string
let companyId: string
emptyOutbox(outbox => {
  db = outbox.gateway.db
  url = outbox.gateway.databaseUrl
  companyId = outbox.companyId
})

type LaterEvent = [type: string, seconds: number, metadata?: Record<string, unknown>]

/** An e-mail that was accepted ten minutes ago, and what happened so many seconds later. */
async function acceptWith(...events: LaterEvent[]): Promise<string> {
  const [id] = await accept(db.short, [draft(companyId, { cc: ['copy@example.com'] })])
  await db.pool.query(
    `update email_outbox set created_at = now() - interval '10 minutes', status = 'CANCELLED' where outbox_id = $1`,
    [id],
  )
  await db.pool.query('delete from email_ready where outbox_id = $1', [id])
  await db.pool.query(`update email_events set created_at = now() - interval '10 minutes' where outbox_id = $1`, [id])
  await addEvents(id!, ...events)
  return id!
}

async function addEvents(id: string, ...events: LaterEvent[]): Promise<void> {
  for (const [type, seconds, metadata = {}] of events)
    await db.pool.query(
      `insert into email_events (outbox_id, company_id, type, created_at, metadata)
       select outbox_id, company_id, $2, created_at + $3 * interval '1 second', $4 from email_outbox where outbox_id = $1`,
      [id, type, seconds, metadata],
    )
}

const hashOf = async (id: string) =>
  (
    await db.pool.query(
      `select metadata ->> 'recipientHash' as hash from email_events where outbox_id = $1 and type = 'QUEUED'`,
      [id],
    )
  ).rows[0].hash

/** Counts what happened until so many seconds after the acceptance, and not before the last call. */
async function rollUpTo(seconds: number): Promise<void> {
  // roll_up_statistics counts up to a minute ago: later events are hidden behind that time.
  await db.pool.query(
    `update email_events set created_at = created_at + interval '1 hour' where created_at >= now() - interval '10 minutes' + $1 * interval '1 second'`,
    [seconds],
  )
  await rollUpStatistics(db.pool)
  await db.pool.query(
    `update email_events set created_at = created_at - interval '1 hour' where created_at > now() + interval '30 minutes';
     update statistics_cursor set counted_until = now() - interval '10 minutes' + interval '${seconds} seconds'`,
  )
}

const outcomes = async () => {
  const { emails, kpis } = await readStats(db.pool, { since: null, until: null, companyId })
  return { ...emails, meanSeconds: kpis.meanSecondsToDelivery.value && Math.round(kpis.meanSecondsToDelivery.value) }
}

test('each e-mail counts once, by what it came to, also when its events are counted in several rounds', async () => {
  await db.pool.query(`update statistics_cursor set counted_until = now() - interval '1 hour'`)
  const failure: LaterEvent = ['RETRY_SCHEDULED', 10, { errorCode: 'X' }]
  await acceptWith(['SENT', 4], ['DELIVERED', 20], ['COMPLAINT', 200])
  await acceptWith(failure, ['SENT', 60])
  await acceptWith(failure, ['RETRY_SCHEDULED', 50, { errorCode: 'X' }], ['FAILED', 70], ['DLQ_MOVED', 70.001])
  await acceptWith(['RETRY_SCHEDULED', 10, { throttled: true }], ['SENT', 40])
  await acceptWith(['REJECTED', 5], ['DLQ_MOVED', 5.001], ['REPLAYED', 90], ['SENT', 100])
  await acceptWith(['SENT', 5], ['BOUNCE', 150])
  await acceptWith(['CANCELLED', 5])
  const copied = await acceptWith(['SENT', 8])
  await addEvents(
    copied,
    ['BOUNCE', 160, { recipientHash: 'sha256:of-the-copy' }],
    ['DELIVERED', 170, { recipientHash: await hashOf(copied) }],
  )
  await acceptWith()

  await rollUpTo(80)
  expect(await outcomes()).toEqual({
    accepted: 9,
    delivered: 5,
    failed: 2,
    recovered: 1,
    notRecovered: 1,
    meanSeconds: 27,
  })
  await rollUpTo(120)
  expect(await outcomes()).toEqual({
    accepted: 9,
    delivered: 6,
    failed: 1,
    recovered: 1,
    notRecovered: 1,
    meanSeconds: 39,
  })
  await rollUpTo(400)
  const late = { accepted: 9, delivered: 5, failed: 2, recovered: 1, notRecovered: 1, meanSeconds: 78 }
  expect(await outcomes()).toEqual(late)
  await rollUpTo(401)
  expect(await outcomes(), 'nothing new').toEqual(late)
})

test('the command prints the KPIs with their targets', async () => {
  const cli = await cliOn(url)
  const printed = await cli.lines('stats', '--since', '2d')
  expect(printed).toMatch(/final delivery rate .* 71\.43 % {2}target > 98 %: NOT met/)
  expect(printed).toMatch(/mean time to delivery .* 78\.\d s {2}target < 5 min: met/)
  expect(printed).toMatch(/recovery after a failed first attempt .* 50\.00 % {2}target > 90 %: NOT met/)
  expect(await cli.json('stats', '--until', '2d')).toMatchObject({
    emails: { accepted: 0 },
    kpis: { finalFailureRate: { value: null, met: null } },
  })
})
