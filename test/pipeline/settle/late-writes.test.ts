import { describe, expect, test } from 'vitest'
import { renewLeases, returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { settleAttempts } from '../../../src/outbox/settle.ts'
import { startAttempts } from '../../../src/outbox/start.ts'
import type { SettledOutcome } from '../../../src/pipeline/attempt/outcome.ts'
import { toSettlement } from '../../../src/pipeline/settle/settle.ts'
import type { AttemptFacts } from '../../../src/pipeline/settle/settlement-by-outcome.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { Semaphore } from '../../../src/platform/semaphores.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import {
  accept,
  claim,
  draft,
  EMPTY_OUTBOX,
  expireLeases,
  type Lease,
  readEmail,
  receive,
  start,
  startOf,
  worker,
  workOff,
} from '../../support/outbox.ts'

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const acceptOne = async () => (await accept(db, [draft(companyId)]))[0]!
const giveUp = () => returnExpiredLeases(db, { all: false, idempotentProviders: ['capture'], graceSeconds: 120 })
async function returnExpired(): Promise<void> {
  await expireLeases(db)
  await giveUp()
}

const failure = { code: 'X', category: 'Y', message: 'late' }

/** The end of the first e-mail of a lease; `waiting`: it ends without a call. */
function endOf({ leaseId, claimed }: Lease, outcome: SettledOutcome, waiting = false) {
  const facts: AttemptFacts = {
    outboxId: claimed[0]!.outboxId,
    guard: { kind: waiting ? 'claimed' : 'started', leaseId },
    requestId: 'r-1',
    attempt: 1,
    attemptsBefore: 0,
    maxAttempts: 5,
    durationMs: 1,
    attemptId: uuidv7(),
    provider: 'capture',
  }
  return toSettlement(outcome, facts)
}

type Late = [name: string, write: (lease: Lease) => Promise<boolean[]>]
const settles =
  (outcome: SettledOutcome, waiting = false) =>
  (lease: Lease) =>
    settleAttempts(db, [endOf(lease, outcome, waiting)])

const LATE: Late[] = [
  ['SENT_ATTEMPT', ({ leaseId, claimed }) => startAttempts(db, [startOf(leaseId, claimed[0]!.outboxId)])],
  ['SENT', settles({ kind: 'sent', messageId: 'late' })],
  ['RETRY_SCHEDULED', settles({ kind: 'retry', failure, delayMs: 1 })],
  ['REJECTED', settles({ kind: 'dead', status: 'REJECTED', failure })],
  ['UNKNOWN', settles({ kind: 'unknown', failure, graceSeconds: 5 })],
  ['parking', settles({ kind: 'parked', failure })],
  ['DLQ before a call', settles({ kind: 'dead', status: 'DLQ', failure }, true)],
  ['EXPIRED before a call', settles({ kind: 'expired' }, true)],
  ['suppression before a call', settles({ kind: 'suppressed', hashes: ['sha256:a'] }, true)],
]

async function everything(outboxId: string) {
  const tables = ['email_ready', 'email_scheduled', 'leases', 'unknown_sends', 'counters', 'dead_letters']
  const rest = await Promise.all(tables.map(async table => (await db.query(`select * from ${table}`)).rows))
  return { stored: await readEmail(db, outboxId), rest }
}

/** What the e-mail has come to when the old worker writes. */
const MEANWHILE: [name: string, happens: () => Promise<unknown>][] = [
  ['the e-mail waits for its next worker', async () => {}],
  ['the next worker has claimed it', () => claim(db, 1)],
  ['the next worker sends it', async () => expect(await start(db, await claim(db, 1))).toHaveLength(1)],
  ['the next worker has sent it', () => workOff(db)],
]

describe.each(MEANWHILE)('a worker that lost its lease before SENT_ATTEMPT, while %s', (_, happens) => {
  test.each(LATE)('%s changes nothing', async (_name, write) => {
    const outboxId = await acceptOne()
    const old = await claim(db, 1)
    await returnExpired()
    await happens()
    const before = await everything(outboxId)
    expect(await write(old)).toEqual([false])
    expect(await everything(outboxId)).toEqual(before)
  })
})

describe('a worker that lost its lease after SENT_ATTEMPT', () => {
  test.each(LATE)('cannot write %s under it', async (_name, write) => {
    const outboxId = await acceptOne()
    const old = await claim(db, 1)
    expect(await start(db, old)).toHaveLength(1)
    await returnExpired()
    const before = await everything(outboxId)
    expect(await write(old)).toEqual([false])
    expect(await everything(outboxId)).toEqual(before)
  })
})

describe('a late write', () => {
  test('does not stop the writes of others in the same flush', async () => {
    const [lost, held] = await accept(db, [draft(companyId), draft(companyId)])
    const old = await claim(db, 1)
    await returnExpired()
    const lease = await claim(db, 2)
    expect(await start(db, lease)).toHaveLength(2)
    const good = { ...lease, claimed: lease.claimed.filter(one => one.outboxId === held) }
    expect(old.claimed[0]!.outboxId).toBe(lost)
    const writes = [old, good].map(one => endOf(one, { kind: 'sent', messageId: 'm-1' }))
    expect(await settleAttempts(db, writes)).toEqual([false, true])
    expect((await readEmail(db, held!)).email.status).toBe('SENT')
  })

  test('racing with the return of its lease: one of them wins, and the e-mail is sent or unknown, never both', async () => {
    for (let round = 0; round < 50; round++) {
      const outboxId = await acceptOne()
      const lease = await claim(db, 1)
      expect(await start(db, lease)).toHaveLength(1)
      await expireLeases(db)
      const [[settled], returned] = await Promise.all([
        settleAttempts(db, [endOf(lease, { kind: 'sent', messageId: `m-${round}` })]),
        giveUp(),
      ])
      expect(Number(settled) + returned.unknown, `round ${round}`).toBe(1)
      expect((await readEmail(db, outboxId)).email.status).toBe(settled ? 'SENT' : 'UNKNOWN')
      const { rows } = await db.query('select outbox_id from unknown_sends where outbox_id = $1', [outboxId])
      expect(rows).toHaveLength(settled ? 0 : 1)
    }
  })

  test('a start racing with the return of its lease: it is being sent or ready again, never both', async () => {
    for (let round = 0; round < 50; round++) {
      const outboxId = await acceptOne()
      const lease = await claim(db, 1)
      await expireLeases(db)
      const [started, returned] = await Promise.all([start(db, lease), giveUp()])
      const { email } = await readEmail(db, outboxId)
      const { rows } = await db.query('select outbox_id from email_ready')
      const counts = [started.length, returned.unstarted, returned.unknown, rows.length, email.status]
      const fine = [
        [1, 0, 0, 0, 'PROCESSING'],
        [1, 0, 1, 0, 'UNKNOWN'],
        [0, 1, 0, 1, 'RETRY_SCHEDULED'],
      ]
      expect(fine, `round ${round}`).toContainEqual(counts)
      await giveUp()
      await db.query(EMPTY_OUTBOX)
    }
  })
})

describe('renewing', () => {
  test('keeps the e-mail', async () => {
    const lease = await claimOne()
    await expireLeases(db)
    await renewLeases(db, [lease.leaseId], 60)
    expect(await giveUp()).toEqual({
      unstarted: 0,
      unknown: 0,
      notTaken: 0,
      lost: { unstarted: [], unknown: [] },
    })
    expect(await start(db, lease)).toHaveLength(1)
  })

  test('a lease that is gone brings nothing back', async () => {
    const lease = await claimOne()
    await returnExpired()
    await renewLeases(db, [lease.leaseId], 60)
    expect((await db.query('select from leases')).rowCount).toBe(0)
    expect(await start(db, lease)).toEqual([])
  })

  const claimOne = async () => {
    await acceptOne()
    return claim(db, 1)
  }
})

test.each(['hold', 'resend'] as const)(
  'with %s, a start that the database does not take leaves its slot free for others',
  async onUnknown => {
    await accept(db, [draft(companyId, { onUnknown }), draft(companyId, { onUnknown })])
    const slots = { starts: new Semaphore(1), calls: new Semaphore(1) }
    const broken = worker(db, {
      slots,
      commitStart: () => Promise.reject(new Error('the database is away')),
    })
    const received = await receive(db, await claim(db, 2))
    for (const claimed of received) await expect(broken(claimed)).rejects.toThrow('away')
    for (const claimed of received) await worker(db, { slots })(claimed)
    for (const { outboxId } of received) expect((await readEmail(db, outboxId)).email.status).toBe('SENT')
  },
)
