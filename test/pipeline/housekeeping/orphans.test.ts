import { beforeEach, describe, expect, test } from 'vitest'
import { returnWhenUnlocked } from '../../../src/outbox/claim.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { recoverOrphans } from '../../../src/outbox/orphans.ts'
import { readyDueEmails } from '../../../src/outbox/schedule.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import { listCounters } from '../../../src/platform/postgres/counters.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { uuidv7Floor } from '../../../src/platform/text/uuid.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  readEmail,
  start,
  typesOf,
  workOff,
} from '../../support/outbox.ts'

/** Capture recognises an attempt: the call of an unknown send is repeated at once. */
const OPTIONS = { all: false, idempotentProviders: ['capture'], graceSeconds: 0 }
const NONE = { processing: 0, waiting: 0, unknown: 0 }

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})
beforeEach(async () => {
  await db.query(`delete from counters where name = 'orphaned_emails'`)
  await allDue()
})

const acceptOne = async (change: DraftChange = {}) => (await accept(db, [draft(companyId, change)]))[0]!
const allDue = () => db.query('delete from orphan_checks')
/** How many of each kind. */
async function takenUp(): Promise<typeof NONE> {
  const counts = { ...NONE }
  await allDue()
  for (const { status } of await recoverOrphans(db, 0))
    counts[status === 'PROCESSING' ? 'processing' : status === 'UNKNOWN' ? 'unknown' : 'waiting']++
  return counts
}
const statusOf = async (outboxId: string) => (await readEmail(db, outboxId)).email.status
const counted = async () => (await listCounters(db)).filter(one => one.name === 'orphaned_emails')

test('an e-mail that waits until somebody else has done with it is no orphan: it becomes ready by itself', async () => {
  const ids = [await acceptOne(), await acceptOne({ delayMs: 3_600_000 })]
  await makeDue(db, [ids[1]!])
  await readyDueEmails(db, 1000)
  await claim(db, 2)
  await returnWhenUnlocked(db, ids)
  await db.query('delete from leases')
  expect(await takenUp()).toEqual(NONE)
  expect(await readyDueEmails(db, 1000)).toBe(2)
})

test('an e-mail at work under a lease that is gone becomes an unknown send, as if its worker had been lost, and ends', async () => {
  const outboxId = await acceptOne()
  await start(db, await claim(db, 1))
  await db.query('delete from leases')
  expect(await recoverOrphans(db, 0)).toEqual([{ outboxId, status: 'PROCESSING' }])
  expect(await takenUp()).toEqual(NONE)
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 1 })
  expect(await resolveUnknownSends(db, OPTIONS.idempotentProviders)).toBe(1)
  await workOff(db)
  expect(await statusOf(outboxId)).toBe('SENT')
  expect(await counted()).toEqual([{ name: 'orphaned_emails', label: 'PROCESSING', value: 1 }])
})

test('an e-mail that is due and not ready becomes ready again, without an attempt', async () => {
  const [fresh, again] = [await acceptOne(), await acceptOne()]
  await claim(db, 1)
  await expireLeases(db)
  await returnExpiredLeases(db, OPTIONS)
  await db.query('delete from email_ready')
  expect(await takenUp()).toEqual({ ...NONE, waiting: 2 })
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ notTaken: 2 })
  expect(await takenUp()).toEqual(NONE)
  await workOff(db)
  expect([await statusOf(fresh), await statusOf(again)]).toEqual(['SENT', 'SENT'])
  expect((await readEmail(db, fresh)).email.attempts + (await readEmail(db, again)).email.attempts).toBe(3)
})

test('an e-mail that is UNKNOWN without an unknown send is resolved', async () => {
  const outboxId = await acceptOne()
  await start(db, await claim(db, 1))
  await expireLeases(db)
  await returnExpiredLeases(db, OPTIONS)
  await db.query('delete from unknown_sends')
  expect(await takenUp()).toEqual({ ...NONE, unknown: 1 })
  expect(await resolveUnknownSends(db, OPTIONS.idempotentProviders)).toBe(1)
  await workOff(db)
  expect(typesOf(await readEmail(db, outboxId)).at(-1)).toBe('SENT')
})

test('whatever is where it belongs is left alone', async () => {
  await acceptOne()
  await workOff(db)
  await accept(db, [draft(companyId), draft(companyId)])
  await start(db, await claim(db, 1))
  await expireLeases(db)
  await returnExpiredLeases(db, { ...OPTIONS, idempotentProviders: [], graceSeconds: 600 })
  await start(db, await claim(db, 1))
  await accept(db, [draft(companyId), draft(companyId), draft(companyId), draft(companyId, { delayMs: 60_000 })])
  await claim(db, 1)
  await claim(db, 1, 3, { kind: 'dispatch' })
  const { rows } = await db.query(
    'select status, count(*)::int as count from email_outbox group by status order by status',
  )
  expect(rows).toEqual([
    { status: 'PENDING', count: 4 },
    { status: 'PROCESSING', count: 1 },
    { status: 'SENT', count: 1 },
    { status: 'UNKNOWN', count: 1 },
  ])
  expect(await takenUp()).toEqual(NONE)
  expect(await counted()).toEqual([])
})

test('a row that says nothing of an attempt harms nobody but itself', async () => {
  const [broken, unknown, orphan] = [await acceptOne(), await acceptOne(), await acceptOne()]
  await start(db, await claim(db, 3))
  await db.query('delete from leases')
  await db.query('update email_outbox set attempt_id = null where outbox_id = $1', [broken])
  await db.query(
    `update email_outbox set attempt_id = null, status = 'UNKNOWN', lease_id = null where outbox_id = $1`,
    [unknown],
  )
  expect(await takenUp()).toEqual({ ...NONE, processing: 1 })
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 1 })
  expect(await statusOf(orphan)).toBe('UNKNOWN')
  await db.query('delete from email_outbox where outbox_id = any($1)', [[broken, unknown]])
})

test('several who look at once take each up, and none fails', async () => {
  await accept(
    db,
    Array.from({ length: 60 }, () => draft(companyId)),
  )
  await start(db, await claim(db, 20))
  await start(db, await claim(db, 20))
  await db.query('delete from leases')
  await db.query('delete from email_ready')
  await Promise.all(Array.from({ length: 4 }, () => recoverOrphans(db, 0)))
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 40, notTaken: 20 })
})

describe('mail of any age is searched', () => {
  const DAY_MS = 86_400_000
  /** The day on which the file began, whatever the clock says later. */
  const firstMidnight = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const daysAgo = (days: number, ms = 0) => new Date(firstMidnight - days * DAY_MS + ms)
  const dayOf = (days: number) => daysAgo(days).toISOString().slice(0, 10)
  let accepted = 0
  const checks = async () => (await db.query('select day from orphan_checks')).rowCount
  const olderCheck = (hours: number) =>
    db.query(`update orphan_checks set checked_at = now() - $1 * interval '1 hour'`, [hours])

  async function acceptOf(days: number): Promise<string> {
    await db.query('select ensure_email_partitions($1)', [dayOf(days)])
    return acceptOne({ outboxId: uuidv7Floor(daysAgo(days, accepted++)) })
  }

  test('also that which was accepted weeks ago, for today', async () => {
    const ids = [await acceptOf(0), await acceptOf(0.5), await acceptOf(12), await acceptOf(45)]
    await db.query('delete from email_ready')
    expect(await takenUp()).toEqual({ ...NONE, waiting: 4 })
    expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ notTaken: 4 })
    await workOff(db)
    expect(await Promise.all(ids.map(statusOf))).toEqual(ids.map(() => 'SENT'))
  })

  test('once an hour; an old day of which everything has ended once a day', async () => {
    await acceptOf(45)
    await acceptOf(30)
    // A run that passes midnight has the tables of this day, too.
    await acceptOf(2)
    await workOff(db)
    const waiting = await acceptOf(12)
    await recoverOrphans(db, 0)
    expect(await checks()).toBeGreaterThanOrEqual(4)
    await db.query('delete from email_ready')
    await olderCheck(0.9)
    expect(await recoverOrphans(db, 0), 'not yet').toEqual([])
    await olderCheck(1.1)
    expect(await recoverOrphans(db, 0)).toEqual([{ outboxId: waiting, status: 'PENDING' }])
    const { rows } = await db.query<{ day: string }>(
      `select day::text from orphan_checks where checked_at > now() - interval '1 hour'`,
    )
    const again = rows.map(row => row.day)
    expect(again).toEqual(expect.arrayContaining([dayOf(12), dayOf(0)]))
    for (const days of [2, 30, 45]) expect(again, `${days} days ago`).not.toContain(dayOf(days))
    await olderCheck(24.1)
    await recoverOrphans(db, 0)
    const left = await db.query(`select from orphan_checks where checked_at < now() - interval '1 hour'`)
    expect(left.rowCount).toBe(0)
    await returnExpiredLeases(db, OPTIONS)
  })

  test('by one process at a time, and by another one when that was lost in the middle', async () => {
    const outboxId = await acceptOf(12)
    await db.query('delete from email_ready')
    const found = await Promise.all(Array.from({ length: 4 }, () => recoverOrphans(db, 0)))
    expect(found.flat()).toEqual([{ outboxId, status: 'PENDING' }])
    await db.query(`delete from leases`)
    await db.query(`update orphan_checks set unfinished = null, checked_at = now() - interval '61 minutes'`)
    expect(await recoverOrphans(db, 0)).toHaveLength(1)
    await returnExpiredLeases(db, OPTIONS)
  })
})
