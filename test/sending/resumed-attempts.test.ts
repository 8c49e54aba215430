import { describe, expect, test } from 'vitest'
import { hashEmail } from '../../src/contracts/hashing.ts'
import { createUuidv7 } from '../../src/contracts/uuid.ts'
import { pauseCompany, resumeCompany } from '../../src/db/companies/companies.ts'
import { expireWaitingEmails } from '../../src/db/outbox/expiry.ts'
import { returnExpiredLeases } from '../../src/db/outbox/leases.ts'
import type { Queryable } from '../../src/db/query.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { resolveUnknownSends } from '../../src/sending/resolve-unknown.ts'
import { cleanLine } from '../support/clean-line.ts'
import { tell } from '../support/feedback.ts'
import { accept, claim, draft, expireLeases, receive, storyOf, typesOf, worker } from '../support/line.ts'
import { counted, doubts, graceOver, lost, scripted, taken, throttled } from '../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const IN_DOUBT = ['QUEUED', ...TRIED, 'UNKNOWN']
const ALMOST_A_DAY_MS = (23 * 60 + 10) * 60_000
const idOfYesterday = () => createUuidv7()(Date.now() - ALMOST_A_DAY_MS)

let db: Queryable
let companyId: string
cleanLine(line => {
  ;({ db, companyId } = line)
})

const story = (outboxId: string) => storyOf(db, outboxId)
const resolve = () => resolveUnknownSends(db, ['resend'])

async function workWith(provider: Provider | null): Promise<void> {
  for (const hand of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(hand)
}

/** An e-mail of yesterday whose call is to be repeated. */
async function toBeAsked(provider: Provider): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, { outboxId: idOfYesterday() })])
  await workWith(provider)
  await graceOver(db)
  expect(await resolve()).toBe(1)
  expect((await story(outboxId!)).email).toMatchObject({ status: 'PENDING', started_at: expect.any(Date) })
  return outboxId!
}

describe('an attempt whose call is to be repeated', () => {
  test('spends no attempts while its provider is parked, however long that is', async () => {
    const resend = scripted('resend', true, lost(), throttled(), taken())
    const outboxId = await toBeAsked(resend)
    for (let times = 0; times < 6; times++) {
      await workWith(null)
      expect((await story(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
      await graceOver(db)
      await resolve()
    }
    await workWith(resend)
    expect((await story(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
  })

  test('is not called again while a recipient of it is suppressed: the repeated call could be its first delivery', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const outboxId = await toBeAsked(resend)
    await db.query(`insert into suppression_list (email_hash, reason) values ($1, 'COMPLAINT')`, [
      hashEmail('maria@example.com'),
    ])
    await workWith(resend)
    expect((await story(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
    expect(await doubts(db)).toMatchObject([{ outbox_id: outboxId, reason: 'RECIPIENT_SUPPRESSED', seconds: 600 }])

    await db.query('delete from suppression_list')
    await graceOver(db)
    await resolve()
    await workWith(resend)
    expect(resend.calls.map(call => call.to)).toEqual([['maria@example.com'], ['maria@example.com']])
    expect((await story(outboxId)).email.status).toBe('SENT')
  })

  test('leaves out whom its first message left out, whether the worker lived to write the outcome or not', async () => {
    const joao = 'joao@example.com'
    const suppress = (address: string) =>
      db.query(`insert into suppression_list (email_hash, reason) values ($1, 'COMPLAINT')`, [hashEmail(address)])
    const died = async () => {
      throw new Error('killed')
    }
    for (const write of [undefined, died]) {
      const resend = scripted('resend', true, lost(), taken())
      const [outboxId] = await accept(db, [draft(companyId, { cc: [joao, 'ana@example.com'] })])
      await suppress(joao)
      for (const hand of await receive(db, await claim(db, 1)))
        await worker(db, { route: () => resend, ...(write && { write }) })(hand).catch(() => {})
      await expireLeases(db)
      await returnExpiredLeases(db, { all: false, idempotentProviders: ['resend'], graceSeconds: 120 })
      await db.query('delete from suppression_list')
      await graceOver(db)
      await resolve()
      await workWith(resend)
      const told = await story(outboxId!)
      expect(resend.calls.map(call => call.cc)).toEqual([['ana@example.com'], ['ana@example.com']])
      expect(told.email.status).toBe('SENT')
      expect(told.recipients.map(one => [one.status, one.suppressed])).toEqual([
        ['SENT', false],
        ['REJECTED', true],
        ['SENT', false],
      ])
    }
  })

  test('spends none when its worker is lost before it asked, and is in doubt again', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const outboxId = await toBeAsked(resend)
    await claim(db, 1)
    await expireLeases(db)
    await returnExpiredLeases(db, { all: false, idempotentProviders: ['resend'], graceSeconds: 120 })
    const told = await story(outboxId)
    expect(told.email).toMatchObject({ status: 'UNKNOWN', attempts: 1, lease_id: null })
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'UNKNOWN'])
    await resolve()
    await workWith(resend)
    expect((await story(outboxId)).email).toMatchObject({ status: 'SENT', attempts: 1 })
  })

  test('ends with its time though its company is paused: given up, never called unsent', async () => {
    const outboxId = await toBeAsked(scripted('resend', true, lost()))
    const [unsent] = await accept(db, [draft(companyId, { outboxId: idOfYesterday() })])
    await pauseCompany(db, companyId, 'test')
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    expect(await expireWaitingEmails(db)).toEqual({ expired: [unsent], unknown: [outboxId] })
    expect(await doubts(db)).toMatchObject([{ outbox_id: outboxId, seconds: 0 }])
    await resolve()
    await resumeCompany(db, companyId)
    const told = await story(outboxId)
    expect(told.email).toMatchObject({ status: 'FAILED', error_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(typesOf(told)).toEqual([...IN_DOUBT, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(told.dead).toMatchObject({ failed_attempts: 1 })
    const other = await story(unsent!)
    expect([other.email.status, typesOf(other)]).toEqual(['EXPIRED', ['QUEUED', 'EXPIRED']])
    expect([await doubts(db), (await claim(db, 10)).claimed]).toEqual([[], []])
  })

  test('is resolved by an event of the provider, in line or while it is being asked', async () => {
    const told = (outboxId: string) =>
      tell(db, outboxId, 'm-1', { kind: 'DELIVERED', recipient: 'maria@example.com', metadata: {} })
    const inLine = await toBeAsked(scripted('resend', true, lost()))
    await told(inLine)
    expect(typesOf(await story(inLine))).toEqual([...IN_DOUBT, 'RESOLVED', 'SENT', 'DELIVERED'])
    await db.query('delete from email_ready')

    const resend = scripted('resend', true, lost(), async message => {
      await told(message.outboxId)
      return taken()
    })
    const asked = await toBeAsked(resend)
    await workWith(resend)
    const { email, events } = await story(asked)
    expect(email.status).toBe('DELIVERED')
    expect(typesOf({ events })).toEqual([...IN_DOUBT, ...TRIED, 'RESOLVED', 'SENT', 'DELIVERED'])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 2, 'unknown_resolved provider-event': 2 })
  })
})
