import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { openStorage } from '../../../src/console/storage.ts'
import { startGateway } from '../../../src/main.ts'
import { returnToReady } from '../../../src/outbox/claim.ts'
import { returnWithoutJob } from '../../../src/outbox/dispatch.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import type { EmailToSend } from '../../../src/outbox/load.ts'
import { cancelEmail, readyDueEmails, rescheduleEmail } from '../../../src/outbox/schedule.ts'
import { claimFairly } from '../../../src/pipeline/claim/claim.ts'
import { logGivenUp, logLost } from '../../../src/pipeline/housekeeping/log.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import { DirectLane } from '../../../src/pipeline/lanes/direct.ts'
import { HeldLeases } from '../../../src/pipeline/lanes/held-leases.ts'
import type { ClaimedEmail } from '../../../src/pipeline/lanes/lane.ts'
import { inTransaction, type Queryable } from '../../../src/platform/postgres/query.ts'
import { WakeableSleep } from '../../../src/platform/sleep.ts'
import type { EmailLineFields, EmailLog } from '../../../src/platform/telemetry/email-log.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { type TestGateway, until } from '../../support/gateway.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  readEmail,
  receive,
  start,
  typesOf,
  worker,
  workOff,
} from '../../support/outbox.ts'
import { SHARED_SECRETS } from '../../support/secrets.ts'

const silent = pino({ level: 'silent' })
const killed = () => Promise.reject(new Error('the worker was killed'))
/** Capture recognises an attempt: the call of an unknown send is repeated at once. */
const OPTIONS = { all: false, idempotentProviders: ['capture'], graceSeconds: 120 }
const NOTHING = { unstarted: 0, unknown: 0, notTaken: 0, lost: { unstarted: [], unknown: [] } }

let gateway: TestGateway
let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ gateway, db, companyId } = outbox)
})

const acceptOne = async (change: DraftChange = {}) => (await accept(db, [draft(companyId, change)]))[0]!
const statusOf = async (outboxId: string) => (await readEmail(db, outboxId)).email.status

async function returnExpired() {
  await expireLeases(db)
  return returnExpiredLeases(db, OPTIONS)
}

/** As a worker settles an attempt that failed: its retry is due by now, and not ready yet. */
async function scheduleRetry(outboxId: string): Promise<void> {
  await db.query(
    `with o as (update email_outbox set status = 'RETRY_SCHEDULED', attempts = 1, next_attempt_at = now() where outbox_id = $1 returning *)
     insert into email_scheduled (due_at, outbox_id, company_id, priority) select next_attempt_at, outbox_id, company_id, priority from o`,
    [outboxId],
  )
}

/** Repeats the call of the one send that is unknown. */
async function repeatCall(): Promise<void> {
  expect(await resolveUnknownSends(db, OPTIONS.idempotentProviders)).toBe(1)
  await workOff(db)
}

describe('a worker that is lost before SENT_ATTEMPT', () => {
  test('returns its e-mail when its lease runs out, and the next one makes a fresh attempt', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1)
    expect(await returnExpired()).toEqual({ ...NOTHING, unstarted: 1, lost: { unstarted: [outboxId], unknown: [] } })
    const stored = await readEmail(db, outboxId)
    expect(stored.email).toMatchObject({ status: 'RETRY_SCHEDULED', lease_id: null, started_at: null, attempts: 1 })
    expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'RETRY_SCHEDULED'])
    expect(stored.events[2]!.metadata).toMatchObject({ errorCode: 'WORKER_LOST', attempt: 1, nextAttemptNumber: 2 })
    const [next] = await receive(db, await claim(db, 1))
    expect(next!.email).toMatchObject({ outboxId, attempts: 1, unresolvedAttempt: null })
    await worker(db)(next!)
    expect((await readEmail(db, outboxId)).email).toMatchObject({ status: 'SENT', attempts: 2 })
  })

  test('returns all of its batch, and nothing twice', async () => {
    const ids = await accept(
      db,
      Array.from({ length: 20 }, () => draft(companyId)),
    )
    await claim(db, 20)
    await expireLeases(db)
    const returned = await Promise.all(Array.from({ length: 4 }, () => returnExpiredLeases(db, OPTIONS)))
    expect(returned.reduce((sum, { unstarted }) => sum + unstarted, 0)).toBe(20)
    const { claimed } = await claim(db, 100)
    expect(claimed.map(one => one.outboxId).toSorted()).toEqual(ids.toSorted())
  })

  test('keeps its e-mail as long as the lease runs', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1)
    expect(await returnExpiredLeases(db, OPTIONS)).toEqual(NOTHING)
    expect((await readEmail(db, outboxId)).email).toMatchObject({ status: 'PENDING', attempts: 0 })
    expect((await claim(db, 10)).claimed).toEqual([])
  })

  test('returns only what it had not finished', async () => {
    const [done, open] = await accept(db, [draft(companyId), draft(companyId)])
    const received = await receive(db, await claim(db, 2))
    await worker(db)(received.find(one => one.outboxId === done)!)
    expect(await returnExpired()).toEqual({ ...NOTHING, unstarted: 1, lost: { unstarted: [open], unknown: [] } })
    expect([await statusOf(done!), await statusOf(open!)]).toEqual(['SENT', 'RETRY_SCHEDULED'])
  })

  test('costs an e-mail of its batch nothing that was settled before, and whose retry has just become due', async () => {
    const [settled, open] = await accept(db, [draft(companyId), draft(companyId)])
    await claim(db, 2)
    await scheduleRetry(settled!)
    expect(await returnExpired()).toMatchObject({ unstarted: 1, lost: { unstarted: [open] } })
    expect((await readEmail(db, settled!)).email).toMatchObject({ status: 'RETRY_SCHEDULED', attempts: 1 })
    expect(await readyDueEmails(db, 1000)).toBe(1)
    expect((await claim(db, 10)).claimed.map(one => one.outboxId).toSorted()).toEqual([settled, open].toSorted())
  })

  test('returns what nobody else is changing, and the rest when that has ended', async () => {
    const [locked, free] = await accept(db, [draft(companyId), draft(companyId)])
    await claim(db, 2)
    await inTransaction(gateway.db.pool, async other => {
      await other.query('select from email_outbox where outbox_id = $1 for update', [locked])
      expect(await returnExpired()).toMatchObject({ unstarted: 1, lost: { unstarted: [free] } })
      expect(await returnExpired(), 'it is still being changed').toEqual(NOTHING)
    })
    expect(await returnExpired()).toMatchObject({ unstarted: 1, lost: { unstarted: [locked] } })
    expect(await returnExpired()).toEqual(NOTHING)
    expect((await claim(db, 10)).claimed.map(one => one.outboxId).toSorted()).toEqual([locked, free].toSorted())
  })

  test('returns nothing that was cancelled or postponed meanwhile', async () => {
    const [cancelled, postponed] = await accept(db, [draft(companyId), draft(companyId)])
    await claim(db, 2)
    await cancelEmail(db, cancelled!, companyId, 'test')
    await rescheduleEmail(db, postponed!, companyId, new Date(Date.now() + 600_000).toISOString())
    expect(await returnExpired()).toEqual(NOTHING)
    expect([await statusOf(cancelled!), await statusOf(postponed!)]).toEqual(['CANCELLED', 'PENDING'])
    expect((await claim(db, 10)).claimed).toEqual([])
  })
})

test('e-mails of a lost worker, and those given up later, are logged with the fields of every e-mail line', async () => {
  const [unstarted, sent] = await accept(db, [draft(companyId, { externalId: 'a' }), draft(companyId)])
  const [, received] = await receive(db, await claim(db, 2))
  await expect(worker(db, { write: killed })(received!)).rejects.toThrow('killed')
  const lines: [string, string, EmailLineFields][] = []
  const log: EmailLog = (line, email, facts) => void lines.push([line, email.outboxId, facts])
  await logLost(db, await returnExpired(), log)
  expect(lines).toEqual([
    ['worker-lost', unstarted, expect.objectContaining({ state: 'RETRY_SCHEDULED', attempt: 1, maxAttempts: 5 })],
    ['unknown', sent, expect.objectContaining({ state: 'UNKNOWN', errorCode: 'WORKER_LOST', provider: 'capture' })],
  ])
  await db.query(`update email_outbox set expires_at = now(), on_unknown = 'hold' where outbox_id = $1`, [sent])
  await resolveUnknownSends(db, [], ids => logGivenUp(db, ids, log))
  expect(lines.at(-1)).toEqual(['dead', sent, expect.objectContaining({ errorCode: 'SEND_OUTCOME_UNKNOWN' })])
})

describe('a worker that is lost after SENT_ATTEMPT', () => {
  /** The message is in the inbox, the worker never got to say so. */
  async function sentButNotSettled(): Promise<string> {
    const outboxId = await acceptOne()
    const [received] = await receive(db, await claim(db, 1))
    await expect(worker(db, { write: killed })(received!)).rejects.toThrow('killed')
    expect(await returnExpired()).toEqual({ ...NOTHING, unknown: 1, lost: { unstarted: [], unknown: [outboxId] } })
    return outboxId
  }

  test('leaves its attempt to the next one, and the inbox has the message once', async () => {
    const outboxId = await sentButNotSettled()
    expect(await statusOf(outboxId)).toBe('UNKNOWN')
    await repeatCall()
    const stored = await readEmail(db, outboxId)
    expect(stored.email).toMatchObject({ status: 'SENT', attempts: 1 })
    expect(stored.inbox).toHaveLength(1)
    expect(stored.email.message_id).toBe(stored.inbox[0]!.message_id)
    const attempts = stored.events.filter(event => event.type === 'SENT_ATTEMPT')
    expect(attempts).toHaveLength(2)
    expect(new Set(attempts.map(event => event.metadata.attemptId))).toEqual(new Set([stored.inbox[0]!.attempt_id]))
  })

  test('before the message left: it leaves once, under the same attempt id', async () => {
    const outboxId = await acceptOne()
    const [received] = await receive(db, await claim(db, 1))
    const provider = { name: 'capture', recognisesAttempts: true, send: killed, close: async () => {} }
    await expect(worker(db, { route: () => provider })(received!)).rejects.toThrow('killed')
    await returnExpired()
    await repeatCall()
    const { events, inbox, email } = await readEmail(db, outboxId)
    const attempts = events.filter(event => event.type === 'SENT_ATTEMPT')
    expect(email.status).toBe('SENT')
    expect(inbox.map(row => row.attempt_id)).toEqual([attempts[0]!.metadata.attemptId])
  })

  test('cannot have its e-mail cancelled, neither while it is unknown nor when it is ready again: it may have left', async () => {
    const outboxId = await sentButNotSettled()
    expect(await cancelEmail(db, outboxId, companyId, 'test')).toBe('too-late')
    await resolveUnknownSends(db, OPTIONS.idempotentProviders)
    expect(await cancelEmail(db, outboxId, companyId, 'test')).toBe('too-late')
    await workOff(db)
    expect(await statusOf(outboxId)).toBe('SENT')
  })

  test('a retry that follows a failed attempt is a new attempt with a new id', async () => {
    const [outboxId] = await accept(db, [draft(companyId, { to: 'unavailable@simulator.test' })])
    for (let attempt = 0; attempt < 2; attempt++) {
      await workOff(db)
      await makeDue(db, [outboxId!])
      await readyDueEmails(db, 1000)
    }
    const { events } = await readEmail(db, outboxId!)
    const ids = events.filter(event => event.type === 'SENT_ATTEMPT').map(event => event.metadata.attemptId)
    expect(new Set(ids).size).toBe(2)
    const [next] = await receive(db, await claim(db, 1))
    expect(next!.email).toMatchObject({ attempts: 2, unresolvedAttempt: null })
  })
})

test.each(['first', 'second'])(
  'two workers that had claimed the same e-mails and are lost together leave unknown what the %s had started',
  async which => {
    const ids = await accept(
      db,
      Array.from({ length: 9 }, () => draft(companyId)),
    )
    // A job that was delivered again, since its worker did not answer any more.
    const first = await claim(db, 9)
    const second = { ...first, leaseId: uuidv7() }
    await db.query(
      `insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
     select $1, kind, 'another', outbox_ids, expires_at from leases where lease_id = $2`,
      [second.leaseId, first.leaseId],
    )
    expect((await start(db, which === 'first' ? first : second)).toSorted()).toEqual(ids)
    const { lost, ...counts } = await returnExpired()
    expect(counts).toEqual({ unstarted: 0, unknown: 9, notTaken: 0 })
    expect([lost.unstarted, lost.unknown.toSorted()]).toEqual([[], ids])
    for (const id of ids) expect(await statusOf(id)).toBe('UNKNOWN')
  },
)

describe('an e-mail that ends its worker every time', () => {
  test('five times before SENT_ATTEMPT: it ends in the DLQ with a reason, unsent, with its five attempts', async () => {
    const outboxId = await acceptOne()
    for (let kills = 0; kills < 5; kills++) {
      await receive(db, await claim(db, 1))
      expect(await returnExpired()).toEqual({ ...NOTHING, unstarted: 1, lost: { unstarted: [outboxId], unknown: [] } })
    }
    await workOff(db)
    const { email, dead, inbox, events } = await readEmail(db, outboxId)
    expect(email.status).toBe('DLQ')
    expect(inbox).toEqual([])
    expect(dead!.last_failure_reason).toMatch(/\S/)
    expect(typesOf({ events }).slice(-2)).toEqual(['FAILED', 'DLQ_MOVED'])
    expect({ failed: dead!.failed_attempts, attempts: email.attempts }).toEqual({ failed: 5, attempts: 5 })
    const retries = events.filter(({ type }) => type === 'RETRY_SCHEDULED').map(one => one.metadata.willRetry)
    expect(retries, 'no retry is announced after the last one').toEqual([true, true, true, true, false])
  })

  test('in the middle of its fifth attempt, after a harmless four: what was sent is not called dead', async () => {
    const outboxId = await acceptOne()
    await db.query('update email_outbox set attempts = 4')
    const [received] = await receive(db, await claim(db, 1))
    await expect(worker(db, { write: killed })(received!)).rejects.toThrow('killed')
    await returnExpired()
    await repeatCall()
    const { email, inbox } = await readEmail(db, outboxId)
    expect(inbox).toHaveLength(1)
    expect(email.status).toBe('SENT')
  })
})

describe('an attempt that breaks off while its worker keeps running', () => {
  test('(the database went away for a moment) is taken up again, and the e-mail is sent once', async () => {
    const [bad, good] = await accept(db, [draft(companyId), draft(companyId)])
    let broken = 0
    const healthy = worker(db)
    const failing = worker(db, { write: killed })
    const work = (claimed: ClaimedEmail) =>
      claimed.outboxId === bad && broken++ === 0 ? failing(claimed) : healthy(claimed)
    const leases = new HeldLeases({
      renew: killed,
      end: async () => {},
      returnUncertain: killed,
      renewEveryMs: 60_000,
      log: silent,
    })
    const lane = new DirectLane<EmailToSend>({
      claim: limits =>
        claimFairly({ claims: db, emails: db }, limits, {
          perTurn: 3,
          holder: 'test',
          leaseSeconds: 60,
          onClaimed: () => {},
        }),
      work,
      leases,
      concurrency: 2,
      maxInFlight: () => 100,
      ready: new WakeableSleep(),
      idleMs: 20,
      log: silent,
    })
    lane.start()
    try {
      await until(
        () => statusOf(good!),
        status => status === 'SENT',
      )
      await until(
        async () => {
          await returnExpired()
          await resolveUnknownSends(db, OPTIONS.idempotentProviders)
          return statusOf(bad!)
        },
        status => status === 'SENT',
      )
    } finally {
      await lane.stop()
    }
    expect((await readEmail(db, bad!)).inbox).toHaveLength(1)
  })

  test('(a provider threw instead of answering) has an unknown outcome, and its probe is free for another e-mail', async () => {
    const outboxId = await acceptOne({ onUnknown: 'hold' })
    const [claimed] = await receive(db, await claim(db, 1))
    const broken: Provider = {
      name: 'relay',
      recognisesAttempts: false,
      close: async () => {},
      send: () => Promise.reject(new TypeError('a mistake in its code')),
    }
    const notCalled: string[] = []
    const work = worker(db, { route: () => broken, notCalled: ({ name }) => void notCalled.push(name) })
    await expect(work(claimed!)).rejects.toThrow('a mistake in its code')
    expect(notCalled).toEqual(['relay'])
    expect(await returnExpired()).toMatchObject({ unknown: 1 })
    expect((await readEmail(db, outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
  })
})

test('a connection that is lost while claimed e-mails are read costs no attempt: they are read again', async () => {
  const outboxId = await acceptOne()
  let lost = 0
  const query = async (...args: Parameters<Queryable['query']>) => {
    const [{ name }] = args as unknown as [{ name?: string }]
    if (name !== 'load-emails-to-send' || lost++ > 0) return db.query(...args)
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  const limits = { leaseId: uuidv7(), size: 1, endedLeases: [], allowances: new Map(), defaultAllowance: 1 }
  const options = { perTurn: 3, holder: 'test', leaseSeconds: 60, onClaimed: () => {} }
  const batch = await claimFairly({ claims: db, emails: { query } as Queryable }, limits, options)
  expect([...(await batch!.emails()).keys()]).toEqual([outboxId])
  expect(lost).toBe(2)
})

test('a lease that runs out counts no attempt of an e-mail that was returned and dispatched again since', async () => {
  const outboxId = await acceptOne()
  await claim(db, 1)
  await returnToReady(db, [outboxId])
  await claim(db, 1, 3, { kind: 'dispatch' })
  await db.query(`update leases set expires_at = now() - interval '1 second' where kind = 'work'`)
  expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ unstarted: 0, unknown: 0 })
  expect((await readEmail(db, outboxId)).email).toMatchObject({ status: 'PENDING', attempts: 0 })
  expect(await returnWithoutJob(db, [], 0)).toEqual([outboxId])
})

describe('jobs that are gone', () => {
  test('of two dispatches that name the same e-mail make it ready once', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1, 3, { kind: 'dispatch' })
    // Brought forward while its job waits: it is ready again, and dispatched again.
    await rescheduleEmail(db, outboxId, companyId, new Date().toISOString())
    expect((await claim(db, 1, 3, { kind: 'dispatch' })).claimed).toHaveLength(1)
    expect(await returnWithoutJob(db, [], 0)).toEqual([outboxId])
    expect((await claim(db, 10)).claimed.map(one => one.outboxId)).toEqual([outboxId])
  })

  test('include those of an e-mail that an older lease still lists, although its worker has returned it to ready', async () => {
    const outboxId = await acceptOne()
    await accept(db, [draft(companyId)])
    // Both e-mails under one lease: one returns to ready, the other is still being sent.
    expect((await claim(db, 2)).claimed).toHaveLength(2)
    await returnToReady(db, [outboxId])
    expect((await claim(db, 1, 3, { kind: 'dispatch' })).claimed).toHaveLength(1)
    expect(await returnWithoutJob(db, [], 0)).toEqual([outboxId])
    expect((await claim(db, 1, 3, { kind: 'dispatch' })).claimed).toHaveLength(1)
    await db.query(`update leases set expires_at = now() - interval '1 second' where kind = 'dispatch'`)
    expect(await returnExpiredLeases(db, OPTIONS)).toMatchObject({ notTaken: 1 })
    expect((await claim(db, 10)).claimed.map(one => one.outboxId)).toEqual([outboxId])
  })

  test('are not those of an e-mail whose retry has just become due: it was delivered, and becomes ready once', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1, 3, { kind: 'dispatch' })
    await scheduleRetry(outboxId)
    expect(await returnWithoutJob(db, [], 0)).toEqual([])
    expect(await readyDueEmails(db, 1000)).toBe(1)
    expect((await claim(db, 10)).claimed.map(one => one.outboxId)).toEqual([outboxId])
  })

  test('are not those of an e-mail that is ready again, or dispatched again, while its first dispatch still lists it', async () => {
    const outboxId = await acceptOne()
    const first = await claim(db, 1, 3, { kind: 'dispatch' })
    await returnToReady(db, [outboxId])
    const listedAgain = () =>
      db.query(
        `insert into leases (lease_id, kind, holder, outbox_ids, taken_at, expires_at)
         values ($1, 'dispatch', 'test', array[$2::uuid], now() - interval '3 seconds', now() + interval '1 minute')
         on conflict (lease_id) do update set taken_at = excluded.taken_at`,
        [first.leaseId, outboxId],
      )
    await listedAgain()
    expect(await returnWithoutJob(db, [], 1), 'ready').toEqual([])
    await listedAgain()
    // Its job is about to be added.
    expect((await claim(db, 1, 3, { kind: 'dispatch' })).claimed).toHaveLength(1)
    expect(await returnWithoutJob(db, [], 1), 'dispatched again').toEqual([])
    expect(await returnWithoutJob(db, [], 0), 'and that job was lost').toEqual([outboxId])
    expect((await claim(db, 10)).claimed.map(one => one.outboxId)).toEqual([outboxId])
  })
})

test('an e-mail that is scheduled twice becomes ready once, and does not keep all others from becoming ready', async () => {
  const ids = [await acceptOne({ delayMs: 3_600_000 }), await acceptOne({ delayMs: 3_600_000 })]
  await makeDue(db, ids)
  await db.query(
    `insert into email_scheduled (due_at, outbox_id, company_id, priority)
     select due_at - interval '1 millisecond', outbox_id, company_id, priority from email_scheduled where outbox_id = $1`,
    [ids[0]],
  )
  expect(await readyDueEmails(db, 1000)).toBe(3)
  expect((await claim(db, 10)).claimed.map(one => one.outboxId).toSorted()).toEqual(ids.toSorted())
})

describe('the only gateway, when it starts', () => {
  test('takes back every lease at once, also those that have not run out, and sends the e-mails', async () => {
    const ids = await accept(
      db,
      Array.from({ length: 5 }, () => draft(companyId)),
    )
    await claim(db, 3)
    await claim(db, 2)
    const config = loadConfig({
      DATABASE_URL: gateway.databaseUrl,
      PORT: '0',
      ...SHARED_SECRETS,
    })
    const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log: silent })
    const started = await startGateway(config, { ...storage, onlyGateway: true }, 'worker', silent)
    try {
      for (const id of ids)
        await until(
          () => statusOf(id),
          status => status === 'SENT',
        )
    } finally {
      await started.stop()
      await storage.close()
    }
  })

  test('leaves the leases of others alone when it is not the only one', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1)
    expect(await returnExpiredLeases(db, OPTIONS)).toEqual(NOTHING)
    expect(typesOf(await readEmail(db, outboxId))).toEqual(['QUEUED'])
    expect((await claim(db, 10)).claimed).toEqual([])
  })
})
