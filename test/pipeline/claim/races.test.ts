import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { cancelEmail, readyDueEmails, rescheduleEmail } from '../../../src/outbox/schedule.ts'
import { inTransaction, type Queryable } from '../../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { unaccounted, watchStatuses } from '../../support/moves.ts'
import {
  accept,
  claim,
  draft,
  EMPTY_OUTBOX,
  forgotten,
  makeDue,
  readEmail,
  start,
  typesOf,
} from '../../support/outbox.ts'

const AN_HOUR_MS = 3_600_000
const STARTED = ['PROCESSING', 'QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']

/** Nobody sends here but the test. */
let quiet: TestGateway
let db: Queryable
let companyId: string

beforeAll(async () => {
  quiet = await startTestGateway({ role: 'api' })
  db = quiet.db.short
  companyId = (await quiet.company()).companyId
  await watchStatuses(db)
})
afterAll(() => quiet?.stop())
beforeEach(async () => {
  await db.query(EMPTY_OUTBOX)
})

const cancel = (outboxId: string) => cancelEmail(quiet.db.pool, outboxId, companyId, 'test')
const reschedule = (outboxId: string, at: string) => rescheduleEmail(quiet.db.pool, outboxId, companyId, at)
const claimAndStart = async (size: number) => start(db, await claim(db, size))
const in10Minutes = () => new Date(Date.now() + 600_000).toISOString()
const now = () => new Date().toISOString()
const later = async () => (await accept(db, [draft(companyId, { delayMs: AN_HOUR_MS })]))[0]!

/** Starts both at nearly the same moment, one or the other a little earlier each time. */
async function race<A, B>(round: number, one: () => Promise<A>, other: () => Promise<B>): Promise<[A, B]> {
  const delayed = async <T>(turns: number, act: () => Promise<T>) => {
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
    return act()
  }
  return Promise.all([delayed(round % 7, one), delayed(round % 5, other)])
}

/** What has fallen due becomes ready, is claimed, and starts. */
async function moveAndStart(): Promise<string[]> {
  await readyDueEmails(db, 1000)
  return claimAndStart(10)
}

test('the urgent goes first inside a company, then the older', async () => {
  const priorities = [5, 10, 1, 5, 3, 1]
  const ids = await accept(
    db,
    priorities.map(priority => draft(companyId, { priority })),
  )
  const { claimed } = await claim(db, 6)
  const order = claimed.map(one => priorities[ids.indexOf(one.outboxId)])
  expect(order).toEqual([1, 1, 3, 5, 5, 10])
  expect(claimed.map(one => ids.indexOf(one.outboxId))).toEqual([2, 5, 4, 0, 3, 1])
})

test('cancelling and starting at the same moment, 200 times: exactly one of them wins', async () => {
  const won = { cancel: 0, start: 0 }
  for (let round = 0; round < 200; round++) {
    const [outboxId] = await accept(db, [draft(companyId)])
    const lease = await claim(db, 1)
    const [outcome, started] = await race(
      round,
      () => cancel(outboxId!),
      () => start(db, lease),
    )
    expect([outcome, started], `round ${round}`).toEqual(started.length === 1 ? ['too-late', [outboxId]] : ['done', []])
    const stored = await readEmail(db, outboxId!)
    expect([stored.email.status, ...typesOf(stored)]).toEqual(
      started.length === 1 ? STARTED : ['CANCELLED', 'QUEUED', 'CANCELLED'],
    )
    won[started.length === 1 ? 'start' : 'cancel']++
  }
  expect(await forgotten(db)).toEqual([])
  expect(
    Math.min(won.cancel, won.start),
    `a race that one always wins is none: ${JSON.stringify(won)}`,
  ).toBeGreaterThan(0)
})

test('cancelling many while large batches are claimed and started: each is one or the other, and none deadlocks', async () => {
  for (let round = 0; round < 15; round++) {
    const ids = await accept(
      db,
      Array.from({ length: 60 }, () => draft(companyId)),
    )
    const backwards = ids.toReversed()
    const [outcomes, ...batches] = await Promise.all([
      Promise.all(backwards.map(cancel)),
      claimAndStart(30),
      claimAndStart(30),
    ])
    const cancelled = backwards.filter((_, index) => outcomes[index] === 'done')
    const left = await claimAndStart(100)
    expect([...batches.flat(), ...cancelled, ...left].toSorted(), `round ${round}`).toEqual(ids.toSorted())
  }
  expect(await forgotten(db)).toEqual([])
})

test('postponing and falling due at the same moment, 100 times: it starts now or waits for its new time', async () => {
  for (let round = 0; round < 100; round++) {
    const outboxId = await later()
    await makeDue(db, [outboxId])
    const newTime = in10Minutes()
    const [outcome, started] = await race(round, () => reschedule(outboxId, newTime), moveAndStart)
    expect([outcome, started], `round ${round}`).toEqual(outcome === 'done' ? ['done', []] : ['too-late', [outboxId]])
    expect(await moveAndStart(), `round ${round}: started before its new time`).toEqual([])
    if (outcome === 'done') {
      await makeDue(db, [outboxId])
      expect(await moveAndStart()).toEqual([outboxId])
    }
  }
  expect(await forgotten(db)).toEqual([])
})

test('cancelled in the moment in which it wakes: the ready row that it could not see before is removed, and nothing is claimed', async () => {
  const outboxId = await later()
  await makeDue(db, [outboxId])
  let tries = 0
  const counting = {
    query: (...args: Parameters<Queryable['query']>) => {
      tries++
      return db.query(...args)
    },
  } as Queryable
  let cancelling: ReturnType<typeof cancel> | undefined
  await inTransaction(quiet.db.pool, async tx => {
    expect(await readyDueEmails(tx, 1000)).toBe(1)
    cancelling = cancelEmail(counting, outboxId, companyId, 'test')
    await vi.waitFor(() => expect(tries, 'it is locked').toBeGreaterThan(1))
  })
  expect(await cancelling).toBe('done')
  expect((await claim(db, 10)).claimed).toEqual([])
  expect((await readEmail(db, outboxId)).email.status).toBe('CANCELLED')
})

test('postponing what a worker has claimed, 100 times: its start is refused, or the postponing is', async () => {
  for (let round = 0; round < 100; round++) {
    const [outboxId] = await accept(db, [draft(companyId)])
    const lease = await claim(db, 1)
    const [outcome, started] = await race(
      round,
      () => reschedule(outboxId!, in10Minutes()),
      () => start(db, lease),
    )
    expect([outcome, started], `round ${round}`).toEqual(outcome === 'done' ? ['done', []] : ['too-late', [outboxId]])
  }
  await db.query('delete from leases')
  await db.query(`delete from email_outbox where status = 'PROCESSING'`)
  expect(await forgotten(db), 'the postponed wait for their new time').toEqual([])
})

test('bringing forward and claiming at the same moment, 100 times: it starts once, and soon', async () => {
  for (let round = 0; round < 100; round++) {
    const outboxId = await later()
    const [, first] = await race(round, () => reschedule(outboxId, now()), moveAndStart)
    const second = await moveAndStart()
    expect([...first, ...second], `round ${round}`).toEqual([outboxId])
  }
})

test('bringing forward what a worker has claimed, 100 times: two may hold it, and one starts', async () => {
  for (let round = 0; round < 100; round++) {
    const [outboxId] = await accept(db, [draft(companyId)])
    const lease = await claim(db, 1)
    await reschedule(outboxId!, now())
    const [first, second] = await race(
      round,
      () => start(db, lease),
      () => claimAndStart(10),
    )
    expect([...first, ...second], `round ${round}`).toEqual([outboxId])
  }
})

test('bringing forward an e-mail with a stale row among the ready, while that row is claimed, does not lose it', async () => {
  const late: number[] = []
  for (let round = 0; round < 100; round++) {
    const outboxId = await later()
    await db.query('insert into email_ready (company_id, priority, outbox_id) values ($1, 5, $2)', [
      companyId,
      outboxId,
    ])
    const [, first] = await race(
      round,
      () => reschedule(outboxId, now()),
      () => claimAndStart(10),
    )
    const second = await moveAndStart()
    if (first.length + second.length !== 1) late.push(round)
  }
  expect(late, 'rounds in which it was not started exactly once although it was due').toEqual([])
})

test('every change of status in these races is in the table of transitions and wrote its event', async () => {
  expect(await unaccounted(db)).toEqual([])
})
