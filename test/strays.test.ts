import { beforeEach, expect, test } from 'vitest'
import { uuidv7Floor } from '../src/contracts/uuid.ts'
import { listCounters } from '../src/db/counters.ts'
import { returnExpiredLeases } from '../src/db/leases.ts'
import type { Queryable } from '../src/db/pool.ts'
import { takeUpStrays } from '../src/db/strays.ts'
import { resolveUnknownSends } from '../src/pipeline/resolve-unknown.ts'
import { cleanLine } from './support/clean-line.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  start,
  storyOf,
  typesOf,
  workOff,
} from './support/line.ts'

/** Capture recognises an attempt: what may have left is asked about at once. */
const OPTIONS = { all: false, recognising: ['capture'], graceSeconds: 0 }
const NONE = { processing: 0, waiting: 0, unknown: 0 }

let db: Queryable
let companyId: string
cleanLine(line => {
  ;({ db, companyId } = line)
})
beforeEach(() => db.query(`delete from counters where name = 'stray_emails'`))

const acceptOne = async (change: DraftChange = {}) => (await accept(db, [draft(companyId, change)]))[0]!
/** How many of each kind. */
async function takenUp(hours?: number): Promise<typeof NONE> {
  const counts = { ...NONE }
  for (const { status } of await takeUpStrays(db, 0, hours))
    counts[status === 'PROCESSING' ? 'processing' : status === 'UNKNOWN' ? 'unknown' : 'waiting']++
  return counts
}
const statusOf = async (outboxId: string) => (await storyOf(db, outboxId)).email.status
const counted = async () => (await listCounters(db)).filter(one => one.name === 'stray_emails')

test('an e-mail at work under a lease that is gone is in doubt, as if its worker had died, and ends', async () => {
  const outboxId = await acceptOne()
  await start(db, await claim(db, 1))
  await db.query('delete from leases')
  expect(await takeUpStrays(db, 0)).toEqual([{ outboxId, status: 'PROCESSING' }])
  expect(await takenUp()).toEqual(NONE)
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 1 })
  expect(await resolveUnknownSends(db, OPTIONS.recognising)).toBe(1)
  await workOff(db)
  expect(await statusOf(outboxId)).toBe('SENT')
  expect(await counted()).toEqual([{ name: 'stray_emails', label: 'PROCESSING', value: 1 }])
})

test('an e-mail that is due and in no line goes back into it, without an attempt', async () => {
  const [fresh, again] = [await acceptOne(), await acceptOne()]
  await claim(db, 1)
  await expireLeases(db)
  await returnExpiredLeases(db, OPTIONS)
  await db.query('delete from email_ready')
  expect(await takenUp()).toEqual({ ...NONE, waiting: 2 })
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ undelivered: 2 })
  expect(await takenUp()).toEqual(NONE)
  await workOff(db)
  expect([await statusOf(fresh), await statusOf(again)]).toEqual(['SENT', 'SENT'])
  expect((await storyOf(db, fresh)).email.attempts + (await storyOf(db, again)).email.attempts).toBe(3)
})

test('an e-mail in doubt for which nobody waits is resolved', async () => {
  const outboxId = await acceptOne()
  await start(db, await claim(db, 1))
  await expireLeases(db)
  await returnExpiredLeases(db, OPTIONS)
  await db.query('delete from unknown_sends')
  expect(await takenUp()).toEqual({ ...NONE, unknown: 1 })
  expect(await resolveUnknownSends(db, OPTIONS.recognising)).toBe(1)
  await workOff(db)
  expect(typesOf(await storyOf(db, outboxId)).at(-1)).toBe('SENT')
})

test('whatever is where it belongs is left alone', async () => {
  await acceptOne()
  await workOff(db)
  await accept(db, [draft(companyId), draft(companyId)])
  await start(db, await claim(db, 1))
  await expireLeases(db)
  await returnExpiredLeases(db, { ...OPTIONS, recognising: [], graceSeconds: 600 })
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
  const [broken, inDoubt, stray] = [await acceptOne(), await acceptOne(), await acceptOne()]
  await start(db, await claim(db, 3))
  await db.query('delete from leases')
  await db.query('update email_outbox set attempt_id = null where outbox_id = $1', [broken])
  await db.query(
    `update email_outbox set attempt_id = null, status = 'UNKNOWN', lease_id = null where outbox_id = $1`,
    [inDoubt],
  )
  expect(await takenUp()).toEqual({ ...NONE, processing: 1 })
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 1 })
  expect(await statusOf(stray)).toBe('UNKNOWN')
  await db.query('delete from email_outbox where outbox_id = any($1)', [[broken, inDoubt]])
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
  await Promise.all(Array.from({ length: 4 }, () => takeUpStrays(db, 0)))
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unknown: 40, undelivered: 20 })
})

test('mail is looked through hour by hour, and what is older is not read', async () => {
  const hoursAgo = (hours: number) => uuidv7Floor(new Date(Date.now() - hours * 3_600_000))
  await accept(
    db,
    [0.5, 1.5, 20.5].map(hours => draft(companyId, { outboxId: hoursAgo(hours) })),
  )
  await db.query('delete from email_ready')
  expect(await takenUp(1)).toEqual({ ...NONE, waiting: 1 })
  expect(await takenUp(20)).toEqual({ ...NONE, waiting: 1 })
  expect(await takenUp()).toEqual({ ...NONE, waiting: 1 })
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ undelivered: 3 })
})
