import { beforeEach, describe, expect, test } from 'vitest'
import type { Settlement } from '../../../src/outbox/settle.ts'
import { commitSettlements } from '../../../src/pipeline/settle/commit.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { accept, claim, draft, readEmail, receive, start, typesOf, worker } from '../../support/outbox.ts'

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

let counted: number
beforeEach(() => {
  counted = 0
})

/** The connection is lost with the first settlement: before the statement arrives, or after its commit. */
function losing(when: 'before' | 'after', then: () => Promise<unknown> = async () => {}): Queryable {
  let lost = false
  async function query(...args: Parameters<Queryable['query']>) {
    const [{ name }] = args as unknown as [{ name?: string }]
    if (!name?.startsWith('settle') || lost) return db.query(...args)
    lost = true
    if (when === 'after') await db.query(...args)
    await then()
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  return { query } as Queryable
}

async function sendThrough(connection: Queryable, to?: string) {
  const [outboxId] = await accept(db, [draft(companyId, to ? { to } : {})])
  const [claimed] = await receive(db, await claim(db, 1))
  const answers: unknown[] = []
  const send = worker(db, {
    write: async settlement => {
      const [answer] = await commitSettlements(connection, [settlement], 10_000)
      answers.push(answer)
      return answer as boolean
    },
    countSent: (_, recipients) => {
      counted += recipients
    },
  })
  await send(claimed!)
  return { answers, stored: await readEmail(db, outboxId!) }
}

describe('a settlement whose commit was not confirmed', () => {
  test('and which was committed counts as written, once', async () => {
    const { answers, stored } = await sendThrough(losing('after'))
    expect(answers).toEqual([true])
    expect(counted, 'recipients in the reputation of the company').toBe(1)
    expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT'])
  })

  test('and which was committed counts as written although the e-mail was delivered meanwhile', async () => {
    const deliver = () => db.query(`update email_outbox set status = 'DELIVERED'`)
    const { answers, stored } = await sendThrough(losing('after', deliver))
    expect([answers, counted, stored.email.status]).toEqual([[true], 1, 'DELIVERED'])
  })

  test('and which was committed as a failure counts as written', async () => {
    const { answers, stored } = await sendThrough(losing('after'), 'unavailable@simulator.test')
    expect(answers).toEqual([true])
    expect(counted).toBe(0)
    expect(stored.email.status).toBe('RETRY_SCHEDULED')
    expect(typesOf(stored).filter(type => type === 'RETRY_SCHEDULED')).toHaveLength(1)
  })

  test('and which was not committed is written again', async () => {
    const { answers, stored } = await sendThrough(losing('before'))
    expect([answers, counted, stored.email.status]).toEqual([[true], 1, 'SENT'])
  })

  test('and whose lease was lost in between is not written', async () => {
    const loseLease = () => db.query(`update email_outbox set lease_id = null, status = 'FAILED'`)
    const { answers, stored } = await sendThrough(losing('before', loseLease))
    expect(answers[0]).toBe(false)
    expect([counted, stored.email.status]).toEqual([0, 'FAILED'])
  })

  test('is looked for among the others of its batch', async () => {
    const ids = await accept(db, [draft(companyId), draft(companyId), draft(companyId)])
    const lease = await claim(db, 3)
    await start(db, lease)
    const settlements = ids.map((outboxId, nth): Settlement => {
      const isSent = nth < 2
      const type = isSent ? 'SENT' : 'RETRY_SCHEDULED'
      return {
        outboxId,
        // Nobody has a lease on the second one.
        guard: { kind: 'started', leaseId: nth === 1 ? outboxId : lease.leaseId },
        status: type,
        attempts: 1,
        durationMs: 5,
        ...(isSent ? { messageId: `m-${nth}` } : { retryDelayMs: 1_000 }),
        events: [{ type, metadata: { attempt: 1, nth, a: 'a\0b' } }],
      }
    })
    expect(await commitSettlements(losing('after'), settlements, 10_000)).toEqual([true, false, true])
  })
})
