import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { commitStarts } from '../../../src/pipeline/attempt/starts.ts'
import { listCounters } from '../../../src/platform/postgres/counters.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  readEmail,
  receive,
  typesOf,
  worker,
  workOff,
} from '../../support/outbox.ts'

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const SENT_ONCE = ['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT']

/** The connection is lost with the first start: before the statement arrives, or after its commit. */
function losing(when: 'before' | 'after', then: () => Promise<unknown> = async () => {}): Queryable {
  let lost = false
  async function query(...args: Parameters<Queryable['query']>) {
    const [{ name }] = args as unknown as [{ name?: string }]
    if (!name?.startsWith('start') || lost) return db.query(...args)
    lost = true
    if (when === 'after') await db.query(...args)
    await then()
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  return { query } as Queryable
}

async function sendThrough(connection: Queryable, change: DraftChange = {}) {
  const [outboxId] = await accept(db, [draft(companyId, { onUnknown: 'hold', ...change })])
  const [claimed] = await receive(db, await claim(db, 1))
  const add = worker(db, {
    commitStart: async start => (await commitStarts(connection, [start], 10_000))[0] as boolean,
  })
  await add(claimed!)
  return outboxId!
}

const collect = async () => {
  await expireLeases(db)
  await returnExpiredLeases(db, { all: false, idempotentProviders: [], graceSeconds: 120 })
}

describe('a start whose commit was not confirmed', () => {
  test('and which was committed goes on to the call', async () => {
    const stored = await readEmail(db, await sendThrough(losing('after')))
    expect(typesOf(stored)).toEqual(SENT_ONCE)
    expect(stored.inbox).toHaveLength(1)
  })

  test('and which was not committed is made again', async () => {
    const stored = await readEmail(db, await sendThrough(losing('before')))
    expect(typesOf(stored)).toEqual(SENT_ONCE)
    expect([stored.inbox.length, stored.email.attempts]).toEqual([1, 1])
  })

  test('and which was committed, but counts as unknown by now, returns to ready and spends no attempt', async () => {
    const outboxId = await sendThrough(losing('after', collect))
    const waiting = await readEmail(db, outboxId)
    expect(typesOf(waiting)).toEqual(['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'UNKNOWN', 'RESOLVED'])
    expect(waiting.events.at(-1)!.metadata).toMatchObject({ by: 'not-called', attempt: 1 })
    expect(waiting.email).toMatchObject({ status: 'PENDING', attempts: 0, started_at: null, lease_id: null })
    expect(waiting.inbox, 'its lease was gone: nobody was called').toEqual([])
    expect((await db.query('select from unknown_sends')).rowCount).toBe(0)
    expect(await listCounters(db)).toContainEqual(expect.objectContaining({ label: 'not-called', value: 1 }))
    await workOff(db)
    const sent = await readEmail(db, outboxId)
    expect(sent.email).toMatchObject({ status: 'SENT', attempts: 1 })
    expect(sent.inbox).toHaveLength(1)
  })

  test('and which was not committed before its lease was given up is left to whoever has it', async () => {
    const outboxId = await sendThrough(losing('before', collect))
    const { email, inbox } = await readEmail(db, outboxId)
    expect([email.status, inbox]).toEqual(['RETRY_SCHEDULED', []])
    await workOff(db)
    expect((await readEmail(db, outboxId)).inbox).toHaveLength(1)
  })

  test('of an e-mail that was cancelled meanwhile calls nobody', async () => {
    const cancel = () => db.query(`update email_outbox set status = 'CANCELLED'`)
    const { email, inbox } = await readEmail(db, await sendThrough(losing('before', cancel)))
    expect([email.status, inbox]).toEqual(['CANCELLED', []])
  })

  test('that was to repeat the call stays unknown: an earlier call may have left', async () => {
    const [outboxId] = await accept(db, [draft(companyId)])
    const lease = await claim(db, 1)
    const [claimed] = await receive(db, lease)
    const attemptId = claimed!.outboxId
    await db.query(`update email_outbox set attempts = 1, started_at = now(), attempt_id = $1, provider = 'capture'`, [
      attemptId,
    ])
    const start = {
      outboxId: outboxId!,
      leaseId: lease.leaseId,
      attemptId,
      provider: 'capture',
      attempt: 1,
      attemptsBefore: 1,
      suppressedOrdinals: [],
    }
    expect(await commitStarts(losing('after', collect), [start], 10_000)).toEqual([false])
    expect((await readEmail(db, outboxId!)).email).toMatchObject({ status: 'UNKNOWN', attempt_id: attemptId })
  })
})
