import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { readyDueEmails, rescheduleEmail } from '../../../src/outbox/schedule.ts'
import { startAttempts } from '../../../src/outbox/start.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import type { Provider, SendResult } from '../../../src/providers/provider.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { tell } from '../../support/feedback.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  readEmail,
  receive,
  startOf,
  typesOf,
  worker,
} from '../../support/outbox.ts'
import {
  counted,
  graceOver,
  lost,
  notConnected,
  scripted,
  taken,
  throttled,
  timedOut,
  unknownSends,
} from '../../support/unknown.ts'

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const read = (outboxId: string) => readEmail(db, outboxId)
const giveUp = (idempotentProviders: string[] = []) =>
  returnExpiredLeases(db, { all: false, idempotentProviders, graceSeconds: 120 })

async function workWith(provider: Provider): Promise<void> {
  for (const claimed of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(claimed)
}
async function sendUnanswered(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await read(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

describe('an e-mail that one process has claimed twice', () => {
  test('whose starts share a flush is sent by one of them', async () => {
    const [outboxId] = await accept(db, [draft(companyId)])
    const first = await claim(db, 1)
    // Brought forward while it is claimed: it is ready again, and claimed again.
    await rescheduleEmail(db, outboxId!, companyId, new Date().toISOString())
    const second = await claim(db, 1)
    expect(second.claimed).toHaveLength(1)
    const held = await startAttempts(db, [startOf(first.leaseId, outboxId!), startOf(second.leaseId, outboxId!)])
    expect(held.filter(Boolean)).toHaveLength(1)
  })
})

describe('repeating the call of an unknown attempt', () => {
  test.each<[string, () => SendResult]>([
    ['throttled', throttled],
    ['not even connected', notConnected],
  ])('and %s: that is no answer about the attempt, so the call is repeated under the same id', async (_, answer) => {
    const resend = scripted('resend', true, lost(), answer(), taken())
    const outboxId = await sendUnanswered(resend)
    await graceOver(db)
    await resolveUnknownSends(db, ['resend'])
    await workWith(resend)
    expect(typesOf(await read(outboxId)), 'nothing is resolved').not.toContain('RESOLVED')
    expect(await counted(db)).not.toHaveProperty('unknown_resolved idempotency-key')
    await makeDue(db, [outboxId])
    await readyDueEmails(db, 1000)
    await graceOver(db)
    await resolveUnknownSends(db, ['resend'])
    await workWith(resend)
    expect(resend.calls).toHaveLength(3)
    expect(new Set(resend.calls.map(call => call.attemptId)).size, 'one attempt, so one message').toBe(1)
  })
})

describe('a late answer that is none', () => {
  test('leaves the send unknown: nothing was resolved', async () => {
    const slow = scripted('ses', false, async () => {
      await expireLeases(db)
      await giveUp()
      return timedOut()
    })
    const [outboxId] = await accept(db, [draft(companyId)])
    await workWith(slow)
    const stored = await read(outboxId!)
    expect(stored.email.status).toBe('UNKNOWN')
    expect(typesOf(stored)).not.toContain('RESOLVED')
    expect(await counted(db)).not.toHaveProperty('unknown_resolved late-answer')
    expect(await unknownSends(db)).toHaveLength(1)
  })
})

describe('evidence from another recipient', () => {
  test('a cc that was delivered shows that the message left: it is not sent again', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await sendUnanswered(ses, { cc: ['bob@example.com'] })
    await tell(db, outboxId, 'm-1', { kind: 'DELIVERED', recipient: 'bob@example.com', metadata: {} })
    await graceOver(db)
    await resolveUnknownSends(db, [])
    await workWith(ses)
    expect(ses.calls).toHaveLength(1)
    expect((await read(outboxId)).email.status).toBe('SENT')
  })
})

describe('a lease that runs out', () => {
  test('costs no attempt where the e-mail was settled under it and waits for its retry', async () => {
    const [retried, open] = await accept(db, [draft(companyId, { to: 'unavailable@simulator.test' }), draft(companyId)])
    const received = await receive(db, await claim(db, 2))
    await worker(db)(received.find(one => one.outboxId === retried)!)
    await makeDue(db, [retried!])
    await readyDueEmails(db, 1000)
    // The worker is lost with its second e-mail; the first one is ready again, under no lease.
    await expireLeases(db)
    await giveUp()
    expect((await read(open!)).email.attempts).toBe(1)
    const stored = await read(retried!)
    expect(stored.email.attempts).toBe(1)
    expect(typesOf(stored).filter(type => type === 'RETRY_SCHEDULED')).toHaveLength(1)
  })

  test('costs no attempt where the e-mail was returned to ready', async () => {
    const ids = await accept(db, [draft(companyId), draft(companyId)])
    const received = await receive(db, await claim(db, 2))
    await worker(db, { route: () => null })(received[0]!)
    await expireLeases(db)
    await giveUp()
    const attempts = await Promise.all(ids.map(async id => (await read(id)).email.attempts))
    expect(attempts).toEqual([0, 1])
  })
})
