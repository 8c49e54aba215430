import { expect, test } from 'vitest'
import { electFeeder } from '../../../src/outbox/dispatch.ts'
import { cancelEmail, readyDueEmails, rescheduleEmail } from '../../../src/outbox/schedule.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { registerProviders, reserveSending } from '../../../src/providers/state.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { accept, claim, draft, makeDue, readEmail, receive, start, worker } from '../../support/outbox.ts'
import { scripted, taken, unavailable } from '../../support/unknown.ts'

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

/** Every time that the database has written down is later than it was: so it looks when its clock has been set back. */
const setClockBack = () =>
  db.query(`update email_outbox set next_attempt_at = next_attempt_at + interval '5 seconds',
    scheduled_at = scheduled_at + interval '5 seconds', expires_at = expires_at + interval '5 seconds'`)

async function workWith(provider: Provider): Promise<void> {
  for (const claimed of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(claimed)
  await db.query('delete from leases')
}

test('a retry that was due when the clock of the database is set back is made', async () => {
  const [outboxId] = await accept(db, [draft(companyId)])
  const ses = scripted('ses', false, unavailable(), taken())
  await workWith(ses)
  await makeDue(db, [outboxId!])
  expect(await readyDueEmails(db, 1000)).toBe(1)
  await setClockBack()
  await workWith(ses)
  expect((await readEmail(db, outboxId!)).email).toMatchObject({ status: 'SENT', attempts: 2 })
})

test('so is mail that was scheduled for a moment that had passed when it was accepted, or was brought forward', async () => {
  const passed = new Date(Date.now() - 1000).toISOString()
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const ids = await accept(db, [
    draft(companyId, { scheduledAt: passed }),
    draft(companyId, { delayMs: 0 }),
    draft(companyId, { scheduledAt: later }),
  ])
  expect(await rescheduleEmail(db, ids[2]!, companyId, passed)).toBe('done')
  await setClockBack()
  await workWith(scripted('ses', false, taken()))
  for (const id of ids) expect((await readEmail(db, id)).email.status).toBe('SENT')
})

test('many calls of readyDueEmails and a cancellation at once: each e-mail becomes ready once or is cancelled, and nothing is left among the scheduled', async () => {
  const ids = await accept(
    db,
    Array.from({ length: 60 }, () => draft(companyId, { delayMs: 60_000 })),
  )
  await makeDue(db, ids)
  const cancelled = ids.filter((_, index) => index % 2 === 0)
  const [moved] = await Promise.all([
    Promise.all(Array.from({ length: 4 }, () => readyDueEmails(db, 20))),
    ...cancelled.map(id => cancelEmail(db, id, companyId, 'test')),
  ])
  let count = moved.reduce((sum, one) => sum + one, 0)
  for (let more = 1; more > 0; count += more) more = await readyDueEmails(db, 20)
  expect(count).toBeLessThanOrEqual(ids.length)
  expect((await db.query('select from email_scheduled')).rowCount).toBe(0)
  // One that was cancelled meanwhile may still have a ready row; it is not started.
  const started = await start(db, await claim(db, 100))
  expect(started.toSorted()).toEqual(ids.filter(id => !cancelled.includes(id)).toSorted())
})

test('what is left of an e-mail that is gone does not hold up those that are due', async () => {
  await db.query(
    `insert into email_scheduled (due_at, outbox_id, company_id, priority)
     select now() - interval '1 hour', gen_random_uuid(), $1, 5 from generate_series(1, 20)`,
    [companyId],
  )
  const [outboxId] = await accept(db, [draft(companyId, { delayMs: 60_000 })])
  await makeDue(db, [outboxId!])
  expect(await readyDueEmails(db, 10)).toBe(10)
  expect(await readyDueEmails(db, 10)).toBe(10)
  expect(await readyDueEmails(db, 10)).toBe(1)
})

test('a clock that is set back by an hour stops neither the sending nor the feeding for that hour', async () => {
  await registerProviders(db, ['ses'])
  const wait = async () => (await reserveSending(db, 'ses', 10, 10, 600_000)).waitMs
  await wait()
  const [dead, living] = [uuidv7(), uuidv7()]
  expect(await electFeeder(db, dead, 5)).toBe(true)
  expect(await electFeeder(db, living, 5), 'while its time lasts').toBe(false)
  await db.query(`update providers set free_at = free_at + interval '1 hour'`)
  await db.query(`update feeder set expires_at = expires_at + interval '1 hour'`)
  expect(await wait()).toBeLessThan(100)
  expect(await wait(), 'and the rate is kept').toBeGreaterThan(800)
  expect(await electFeeder(db, living, 5)).toBe(true)
})
