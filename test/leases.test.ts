import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { renewLease, returnExpiredLeases } from '../src/db/leases.ts'
import { settleAttempts, startAttempts } from '../src/db/line.ts'
import type { Queryable } from '../src/db/pool.ts'
import { cancelEmail } from '../src/db/schedule.ts'
import { DirectLane } from '../src/lanes/direct.ts'
import { openStorage, startGateway } from '../src/main.ts'
import type { Received } from '../src/pipeline/attempt-email.ts'
import { claimFairly } from '../src/pipeline/claim-fairly.ts'
import { toSettlement } from '../src/pipeline/outcome.ts'
import { startTestGateway, type TestGateway, until } from './support/gateway.ts'
import {
  accept,
  claim,
  draft,
  expireLeases,
  forgotten,
  type Lease,
  receive,
  storyOf,
  typesOf,
  worker,
  workOff,
} from './support/line.ts'

const silent = pino({ level: 'silent' })
const died = () => Promise.reject(new Error('the worker was killed'))

let gateway: TestGateway
let db: Queryable
let companyId: string

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.hot
  companyId = (await gateway.company()).companyId
})
afterAll(() => gateway?.stop())

beforeEach(async () => {
  await db.query(
    'truncate email_ready, email_scheduled, leases, email_outbox, email_events, email_recipients, dead_letters',
  )
})
afterEach(async () => {
  expect(await forgotten(db), 'e-mails that nothing would ever wake').toEqual([])
})

const acceptOne = async () => (await accept(db, [draft(companyId)]))[0]!
const statusOf = async (outboxId: string) => (await storyOf(db, outboxId)).email.status

async function takeBack(): Promise<number> {
  await expireLeases(db)
  return returnExpiredLeases(db, false)
}

function startOf({ leaseId, claimed }: Lease) {
  const { outboxId, attempts: attempt } = claimed[0]!
  return { outboxId, leaseId, attemptId: outboxId, provider: 'capture', attempt, validations: [] }
}

const endOf = ({ leaseId, claimed }: Lease, outcome: Parameters<typeof toSettlement>[0]) => {
  const { outboxId, attempts: attempt } = claimed[0]!
  return toSettlement(outcome, { outboxId, leaseId, attempt, maxAttempts: 5, durationMs: 1 })
}

describe('a worker that dies before SENT_ATTEMPT', () => {
  test('gives its e-mail back when its lease runs out, and the next one makes a fresh attempt', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1)
    expect(await takeBack()).toBe(1)
    expect((await storyOf(db, outboxId)).email).toMatchObject({
      status: 'RETRY_SCHEDULED',
      lease_id: null,
      started_at: null,
    })
    const { claimed } = await claim(db, 1)
    expect(claimed).toEqual([expect.objectContaining({ outboxId, attempts: 2, resumedAttemptId: null })])
  })

  test('gives back all of its batch, and nothing twice', async () => {
    const ids = await accept(
      db,
      Array.from({ length: 20 }, () => draft(companyId)),
    )
    await claim(db, 20)
    await expireLeases(db)
    const returned = await Promise.all(Array.from({ length: 4 }, () => returnExpiredLeases(db, false)))
    expect(returned.reduce((sum, count) => sum + count, 0)).toBe(20)
    const { claimed } = await claim(db, 100)
    expect(claimed.map(one => one.outboxId).toSorted()).toEqual(ids.toSorted())
  })

  test('keeps its e-mail as long as the lease runs', async () => {
    const outboxId = await acceptOne()
    await claim(db, 1)
    expect(await returnExpiredLeases(db, false)).toBe(0)
    expect(await statusOf(outboxId)).toBe('PROCESSING')
  })

  test('gives back only what it had not finished', async () => {
    const [done, open] = await accept(db, [draft(companyId), draft(companyId)])
    const received = await receive(db, await claim(db, 2))
    await worker(db)(received.find(one => one.outboxId === done)!)
    expect(await takeBack()).toBe(1)
    expect([await statusOf(done!), await statusOf(open!)]).toEqual(['SENT', 'RETRY_SCHEDULED'])
  })
})

describe('a worker that dies after SENT_ATTEMPT', () => {
  /** The message is in the inbox, the worker never got to say so. */
  async function sentButNotSettled(): Promise<string> {
    const outboxId = await acceptOne()
    const [received] = await receive(db, await claim(db, 1))
    await expect(worker(db, { settlements: { add: died } })(received!)).rejects.toThrow('killed')
    expect(await takeBack()).toBe(1)
    return outboxId
  }

  test('leaves its attempt to the next one, and the inbox has the message once', async () => {
    const outboxId = await sentButNotSettled()
    expect(await workOff(db)).toBe(1)
    const story = await storyOf(db, outboxId)
    expect(story.email.status).toBe('SENT')
    expect(story.inbox).toHaveLength(1)
    expect(story.email.message_id).toBe(story.inbox[0]!.message_id)
    const attempts = story.events.filter(event => event.type === 'SENT_ATTEMPT')
    expect(attempts).toHaveLength(2)
    expect(new Set(attempts.map(event => event.metadata.attemptId))).toEqual(new Set([story.inbox[0]!.attempt_id]))
  })

  test('before the message left: it leaves once, under the same attempt id', async () => {
    const outboxId = await acceptOne()
    const [received] = await receive(db, await claim(db, 1))
    const dying = { name: 'capture', send: died }
    await expect(worker(db, { providerFor: () => dying })(received!)).rejects.toThrow('killed')
    await takeBack()
    await workOff(db)
    const { events, inbox, email } = await storyOf(db, outboxId)
    const attempts = events.filter(event => event.type === 'SENT_ATTEMPT')
    expect(email.status).toBe('SENT')
    expect(inbox.map(row => row.attempt_id)).toEqual([attempts[0]!.metadata.attemptId])
  })

  test('cannot have its e-mail cancelled meanwhile: it may have left', async () => {
    const outboxId = await sentButNotSettled()
    expect(await cancelEmail(db, outboxId, companyId, 'test')).toBe('too-late')
    await workOff(db)
    expect(await statusOf(outboxId)).toBe('SENT')
  })

  test('a retry that follows a failed attempt is a new attempt with a new id', async () => {
    const [outboxId] = await accept(db, [draft(companyId, { to: 'throttle@simulator.test' })])
    await workOff(db)
    await db.query(`update email_outbox set next_attempt_at = now() where outbox_id = $1`, [outboxId])
    await db.query(
      `with due as (delete from email_scheduled returning company_id, priority, outbox_id)
       insert into email_ready (company_id, priority, outbox_id) select * from due`,
    )
    const { claimed } = await claim(db, 1)
    expect(claimed[0]).toMatchObject({ outboxId, attempts: 2, resumedAttemptId: null })
  })
})

describe('a late write of a worker that lost its lease', () => {
  type Late = [name: string, write: (lease: Lease) => Promise<boolean[]>]
  const failure = { code: 'X', category: 'Y', message: 'late' }
  const LATE: Late[] = [
    ['SENT_ATTEMPT', lease => startAttempts(db, [startOf(lease)])],
    ['SENT', lease => settleAttempts(db, [endOf(lease, { kind: 'sent', messageId: 'late' })])],
    ['RETRY_SCHEDULED', lease => settleAttempts(db, [endOf(lease, { kind: 'retry', failure, delayMs: 1 })])],
    ['DLQ', lease => settleAttempts(db, [endOf(lease, { kind: 'dead', status: 'DLQ', failure })])],
    ['EXPIRED', lease => settleAttempts(db, [endOf(lease, { kind: 'expired' })])],
  ]
  const everything = async (outboxId: string) => {
    const tables = await Promise.all(
      ['email_ready', 'email_scheduled', 'leases'].map(async table => (await db.query(`select * from ${table}`)).rows),
    )
    return { story: await storyOf(db, outboxId), tables }
  }

  test.each(LATE)('%s changes nothing while the e-mail waits for its next worker', async (_, write) => {
    const outboxId = await acceptOne()
    const old = await claim(db, 1)
    await takeBack()
    const before = await everything(outboxId)
    expect(await write(old)).toEqual([false])
    expect(await everything(outboxId)).toEqual(before)
  })

  test.each(LATE)('%s changes nothing while the next worker has it', async (_, write) => {
    const outboxId = await acceptOne()
    const old = await claim(db, 1)
    await takeBack()
    await claim(db, 1)
    const before = await everything(outboxId)
    expect(await write(old)).toEqual([false])
    expect(await everything(outboxId)).toEqual(before)
  })

  test.each(LATE)('%s changes nothing after the next worker has sent it', async (_, write) => {
    const outboxId = await acceptOne()
    const old = await claim(db, 1)
    await takeBack()
    await workOff(db)
    const before = await everything(outboxId)
    expect(await write(old)).toEqual([false])
    expect(await everything(outboxId)).toEqual(before)
  })

  test('does not stop the writes of others in the same flush', async () => {
    const [lost, held] = await accept(db, [draft(companyId), draft(companyId)])
    const old = await claim(db, 1)
    await takeBack()
    const { leaseId, claimed } = await claim(db, 2)
    const good = { leaseId, claimed: claimed.filter(one => one.outboxId === held) }
    expect(old.claimed[0]!.outboxId).toBe(lost)
    const writes = [old, good].map(lease => endOf(lease, { kind: 'sent', messageId: 'm-1' }))
    expect(await settleAttempts(db, writes)).toEqual([false, true])
    expect(await statusOf(held!)).toBe('SENT')
  })

  test('racing with the return of its lease: one of them wins, and the e-mail is sent or ready, never both', async () => {
    for (let round = 0; round < 50; round++) {
      const outboxId = await acceptOne()
      const lease = await claim(db, 1)
      await expireLeases(db)
      const [[settled], returned] = await Promise.all([
        settleAttempts(db, [endOf(lease, { kind: 'sent', messageId: `m-${round}` })]),
        returnExpiredLeases(db, false),
      ])
      expect(Number(settled) + returned, `round ${round}`).toBe(1)
      const { rows } = await db.query('select outbox_id from email_ready')
      expect(rows.map(row => row.outbox_id)).toEqual(settled ? [] : [outboxId])
      expect(await statusOf(outboxId)).toBe(settled ? 'SENT' : 'RETRY_SCHEDULED')
      await db.query('truncate email_ready')
      await db.query(`update email_outbox set status = 'CANCELLED', lease_id = null where status <> 'SENT'`)
    }
  })
})

describe('renewing', () => {
  test('keeps the e-mail', async () => {
    const outboxId = await acceptOne()
    const { leaseId } = await claim(db, 1)
    await expireLeases(db)
    await renewLease(db, leaseId, 60)
    expect(await returnExpiredLeases(db, false)).toBe(0)
    expect(await statusOf(outboxId)).toBe('PROCESSING')
  })

  test('a lease that is gone brings nothing back', async () => {
    const outboxId = await acceptOne()
    const { leaseId } = await claim(db, 1)
    await takeBack()
    await renewLease(db, leaseId, 60)
    expect((await db.query('select from leases')).rowCount).toBe(0)
    expect(await statusOf(outboxId)).toBe('RETRY_SCHEDULED')
  })
})

describe('an e-mail that ends its worker every time', () => {
  async function killFiveWorkers(kill: (received: Received) => Promise<void>): Promise<void> {
    for (let kills = 0; kills < 5; kills++) {
      const [received] = await receive(db, await claim(db, 1))
      await kill(received!)
      expect(await takeBack()).toBe(1)
    }
  }

  test('five times before SENT_ATTEMPT: it ends in the DLQ with a reason, unsent, with its five attempts', async () => {
    const outboxId = await acceptOne()
    await killFiveWorkers(async () => {})
    await workOff(db)
    const { email, dead, inbox, events } = await storyOf(db, outboxId)
    expect(email.status).toBe('DLQ')
    expect(inbox).toEqual([])
    expect(dead!.last_failure_reason).toMatch(/\S/)
    expect(typesOf({ events }).slice(-2)).toEqual(['FAILED', 'DLQ_MOVED'])
    expect({ failed: dead!.failed_attempts, attempts: email.attempts }).toEqual({ failed: 5, attempts: 5 })
  })

  test('in the middle of its fifth attempt, after a harmless four: what was sent is not called dead', async () => {
    const outboxId = await acceptOne()
    await db.query('update email_outbox set attempts = 4')
    const [received] = await receive(db, await claim(db, 1))
    await expect(worker(db, { settlements: { add: died } })(received!)).rejects.toThrow('killed')
    await takeBack()
    await workOff(db)
    const { email, inbox } = await storyOf(db, outboxId)
    expect(inbox).toHaveLength(1)
    expect(email.status).toBe('SENT')
  })
})

describe('an attempt that breaks off while its worker lives on', () => {
  test('(the database went away for a moment) is taken up again, and the e-mail is sent once', async () => {
    const [bad, good] = await accept(db, [draft(companyId), draft(companyId)])
    let broken = 0
    const healthy = worker(db)
    const failing = worker(db, { settlements: { add: died } })
    const lane = new DirectLane<Received>({
      claim: size => claimFairly(db, size, { perTurn: 3, holder: 'test', leaseSeconds: 60 }),
      work: received => (received.outboxId === bad && broken++ === 0 ? failing(received) : healthy(received)),
      concurrency: 2,
      renewEveryMs: 60_000,
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
          await takeBack()
          return statusOf(bad!)
        },
        status => status === 'SENT',
        3000,
      )
    } finally {
      await lane.stop()
    }
    expect((await storyOf(db, bad!)).inbox).toHaveLength(1)
  })
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
      ENCRYPTION_KEY: 'ab'.repeat(32),
      HASH_PEPPER: 'p'.repeat(32),
    })
    const storage = await openStorage(config, { use: 'gateway', say: () => {}, onLost: () => {}, log: silent })
    const started = await startGateway(config, { ...storage, alone: true }, 'worker', silent)
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
    await returnExpiredLeases(db, false)
    expect(await statusOf(outboxId)).toBe('PROCESSING')
  })
})
