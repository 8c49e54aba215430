import { describe, expect, test } from 'vitest'
import { returnExpiredLeases } from '../../src/db/outbox/leases.ts'
import { readyDueEmails, rescheduleEmail } from '../../src/db/outbox/schedule.ts'
import { startAttempts } from '../../src/db/outbox/start.ts'
import type { Queryable } from '../../src/db/query.ts'
import type { Provider, SendResult } from '../../src/providers/provider.ts'
import { resolveUnknownSends } from '../../src/sending/resolve-unknown.ts'
import { cleanLine } from '../support/clean-line.ts'
import { tell } from '../support/feedback.ts'
import {
  accept,
  claim,
  type DraftChange,
  draft,
  expireLeases,
  makeDue,
  receive,
  startOf,
  storyOf,
  typesOf,
  worker,
} from '../support/line.ts'
import {
  counted,
  doubts,
  graceOver,
  lost,
  notConnected,
  scripted,
  taken,
  throttled,
  timedOut,
} from '../support/unknown.ts'

let db: Queryable
let companyId: string
cleanLine(line => {
  ;({ db, companyId } = line)
})

const story = (outboxId: string) => storyOf(db, outboxId)
const giveUp = (idempotentProviders: string[] = []) =>
  returnExpiredLeases(db, { all: false, idempotentProviders, graceSeconds: 120 })

async function workWith(provider: Provider): Promise<void> {
  for (const hand of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(hand)
}
async function inDoubt(provider: Provider, change: DraftChange = {}): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, change)])
  await workWith(provider)
  expect((await story(outboxId!)).email.status).toBe('UNKNOWN')
  return outboxId!
}

describe('an e-mail in two hands of one process', () => {
  test('whose starts share a flush is sent by one of them', async () => {
    const [outboxId] = await accept(db, [draft(companyId)])
    const first = await claim(db, 1)
    // Brought forward while it is in hand: it is in line again, and claimed again.
    await rescheduleEmail(db, outboxId!, companyId, new Date().toISOString())
    const second = await claim(db, 1)
    expect(second.claimed).toHaveLength(1)
    const held = await startAttempts(db, [startOf(first.leaseId, outboxId!), startOf(second.leaseId, outboxId!)])
    expect(held.filter(Boolean)).toHaveLength(1)
  })
})

describe('asking again what became of an attempt', () => {
  test.each<[string, () => SendResult]>([
    ['throttled', throttled],
    ['not even connected', notConnected],
  ])('and %s: that is no answer about the attempt, so it is asked again under the same id', async (_, answer) => {
    const resend = scripted('resend', true, lost(), answer(), taken())
    const outboxId = await inDoubt(resend)
    await graceOver(db)
    await resolveUnknownSends(db, ['resend'])
    await workWith(resend)
    expect(typesOf(await story(outboxId)), 'nothing is resolved').not.toContain('RESOLVED')
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
  test('leaves the doubt as it is: nothing was resolved', async () => {
    const slow = scripted('ses', false, async () => {
      await expireLeases(db)
      await giveUp()
      return timedOut()
    })
    const [outboxId] = await accept(db, [draft(companyId)])
    await workWith(slow)
    const told = await story(outboxId!)
    expect(told.email.status).toBe('UNKNOWN')
    expect(typesOf(told)).not.toContain('RESOLVED')
    expect(await counted(db)).not.toHaveProperty('unknown_resolved late-answer')
    expect(await doubts(db)).toHaveLength(1)
  })
})

describe('evidence from another recipient', () => {
  test('a cc that was delivered shows that the message left: it is not sent again', async () => {
    const ses = scripted('ses', false, lost(), taken())
    const outboxId = await inDoubt(ses, { cc: ['bob@example.com'] })
    await tell(db, outboxId, 'm-1', { kind: 'DELIVERED', recipient: 'bob@example.com', metadata: {} })
    await graceOver(db)
    await resolveUnknownSends(db, [])
    await workWith(ses)
    expect(ses.calls).toHaveLength(1)
    expect((await story(outboxId)).email.status).toBe('SENT')
  })
})

describe('a lease that runs out', () => {
  test('costs no attempt where the e-mail was settled under it and waits for its retry', async () => {
    const [retried, open] = await accept(db, [draft(companyId, { to: 'unavailable@simulator.test' }), draft(companyId)])
    const hands = await receive(db, await claim(db, 2))
    await worker(db)(hands.find(one => one.outboxId === retried)!)
    await makeDue(db, [retried!])
    await readyDueEmails(db, 1000)
    // The worker dies over its second e-mail; the first one is in line again, in nobody's hands.
    await expireLeases(db)
    await giveUp()
    expect((await story(open!)).email.attempts).toBe(1)
    const told = await story(retried!)
    expect(told.email.attempts).toBe(1)
    expect(typesOf(told).filter(type => type === 'RETRY_SCHEDULED')).toHaveLength(1)
  })

  test('costs no attempt where the e-mail was handed back', async () => {
    const ids = await accept(db, [draft(companyId), draft(companyId)])
    const hands = await receive(db, await claim(db, 2))
    await worker(db, { route: () => null })(hands[0]!)
    await expireLeases(db)
    await giveUp()
    const attempts = await Promise.all(ids.map(async id => (await story(id)).email.attempts))
    expect(attempts).toEqual([0, 1])
  })
})
