import { describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany } from '../../../src/companies/companies.ts'
import { expireWaitingEmails } from '../../../src/outbox/expiry.ts'
import { returnExpiredLeases } from '../../../src/outbox/leases.ts'
import { resolveUnknownSends } from '../../../src/pipeline/housekeeping/unknown.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { createUuidv7 } from '../../../src/platform/text/uuid.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { emptyOutbox } from '../../support/empty-outbox.ts'
import { tell } from '../../support/feedback.ts'
import { accept, claim, draft, expireLeases, readEmail, receive, typesOf, worker } from '../../support/outbox.ts'
import { counted, graceOver, lost, scripted, taken, throttled, unknownSends } from '../../support/unknown.ts'

const TRIED = ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT']
const UNTIL_UNKNOWN = ['QUEUED', ...TRIED, 'UNKNOWN']
const ALMOST_A_DAY_MS = (23 * 60 + 10) * 60_000
const idOfYesterday = () => createUuidv7()(Date.now() - ALMOST_A_DAY_MS)

let db: Queryable
let companyId: string
emptyOutbox(outbox => {
  ;({ db, companyId } = outbox)
})

const read = (outboxId: string) => readEmail(db, outboxId)
const resolve = () => resolveUnknownSends(db, ['resend'])

async function workWith(provider: Provider | null): Promise<void> {
  for (const claimed of await receive(db, await claim(db, 100))) await worker(db, { route: () => provider })(claimed)
}

/** An e-mail of yesterday whose call is to be repeated. */
async function toBeRepeated(provider: Provider): Promise<string> {
  const [outboxId] = await accept(db, [draft(companyId, { outboxId: idOfYesterday() })])
  await workWith(provider)
  await graceOver(db)
  expect(await resolve()).toBe(1)
  expect((await read(outboxId!)).email).toMatchObject({ status: 'PENDING', started_at: expect.any(Date) })
  return outboxId!
}

describe('an attempt whose call is to be repeated', () => {
  test('spends no attempts while its provider is parked, however long that is', async () => {
    const resend = scripted('resend', true, lost(), throttled(), taken())
    const outboxId = await toBeRepeated(resend)
    for (let times = 0; times < 6; times++) {
      await workWith(null)
      expect((await read(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
      await graceOver(db)
      await resolve()
    }
    await workWith(resend)
    expect((await read(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
  })

  test('is not called again while a recipient of it is suppressed: the repeated call could be its first delivery', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const outboxId = await toBeRepeated(resend)
    await db.query(`insert into suppression_list (email_hash, reason) values ($1, 'COMPLAINT')`, [
      hashEmail('maria@example.com'),
    ])
    await workWith(resend)
    expect((await read(outboxId)).email).toMatchObject({ status: 'UNKNOWN', attempts: 1 })
    expect(await unknownSends(db)).toMatchObject([
      { outbox_id: outboxId, reason: 'RECIPIENT_SUPPRESSED', seconds: 600 },
    ])

    await db.query('delete from suppression_list')
    await graceOver(db)
    await resolve()
    await workWith(resend)
    expect(resend.calls.map(call => call.to)).toEqual([['maria@example.com'], ['maria@example.com']])
    expect((await read(outboxId)).email.status).toBe('SENT')
  })

  test('leaves out whom its first message left out, whether the worker wrote the outcome or was lost before', async () => {
    const joao = 'joao@example.com'
    const suppress = (address: string) =>
      db.query(`insert into suppression_list (email_hash, reason) values ($1, 'COMPLAINT')`, [hashEmail(address)])
    const killed = async () => {
      throw new Error('killed')
    }
    for (const write of [undefined, killed]) {
      const resend = scripted('resend', true, lost(), taken())
      const [outboxId] = await accept(db, [draft(companyId, { cc: [joao, 'ana@example.com'] })])
      await suppress(joao)
      for (const claimed of await receive(db, await claim(db, 1)))
        await worker(db, { route: () => resend, ...(write && { write }) })(claimed).catch(() => {})
      await expireLeases(db)
      await returnExpiredLeases(db, { all: false, idempotentProviders: ['resend'], graceSeconds: 120 })
      await db.query('delete from suppression_list')
      await graceOver(db)
      await resolve()
      await workWith(resend)
      const stored = await read(outboxId!)
      expect(resend.calls.map(call => call.cc)).toEqual([['ana@example.com'], ['ana@example.com']])
      expect(stored.email.status).toBe('SENT')
      expect(stored.recipients.map(one => [one.status, one.suppressed])).toEqual([
        ['SENT', false],
        ['REJECTED', true],
        ['SENT', false],
      ])
    }
  })

  test('spends none when its worker is lost before the call was repeated, and is unknown again', async () => {
    const resend = scripted('resend', true, lost(), taken())
    const outboxId = await toBeRepeated(resend)
    await claim(db, 1)
    await expireLeases(db)
    await returnExpiredLeases(db, { all: false, idempotentProviders: ['resend'], graceSeconds: 120 })
    const stored = await read(outboxId)
    expect(stored.email).toMatchObject({ status: 'UNKNOWN', attempts: 1, lease_id: null })
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'UNKNOWN'])
    await resolve()
    await workWith(resend)
    expect((await read(outboxId)).email).toMatchObject({ status: 'SENT', attempts: 1 })
  })

  test('ends with its time though its company is paused: given up, never called unsent', async () => {
    const outboxId = await toBeRepeated(scripted('resend', true, lost()))
    const [unsent] = await accept(db, [draft(companyId, { outboxId: idOfYesterday() })])
    await pauseCompany(db, companyId, 'test')
    await db.query(`update email_outbox set expires_at = now() - interval '1 second'`)
    expect(await expireWaitingEmails(db)).toEqual({ expired: [unsent], unknown: [outboxId] })
    expect(await unknownSends(db)).toMatchObject([{ outbox_id: outboxId, seconds: 0 }])
    await resolve()
    await resumeCompany(db, companyId)
    const stored = await read(outboxId)
    expect(stored.email).toMatchObject({ status: 'FAILED', error_code: 'SEND_OUTCOME_UNKNOWN' })
    expect(typesOf(stored)).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'FAILED', 'DLQ_MOVED'])
    expect(stored.dead).toMatchObject({ failed_attempts: 1 })
    const other = await read(unsent!)
    expect([other.email.status, typesOf(other)]).toEqual(['EXPIRED', ['QUEUED', 'EXPIRED']])
    expect([await unknownSends(db), (await claim(db, 10)).claimed]).toEqual([[], []])
  })

  test('is resolved by an event of the provider, ready or while the call is being repeated', async () => {
    const delivered = (outboxId: string) =>
      tell(db, outboxId, 'm-1', { kind: 'DELIVERED', recipient: 'maria@example.com', metadata: {} })
    const ready = await toBeRepeated(scripted('resend', true, lost()))
    await delivered(ready)
    expect(typesOf(await read(ready))).toEqual([...UNTIL_UNKNOWN, 'RESOLVED', 'SENT', 'DELIVERED'])
    await db.query('delete from email_ready')

    const resend = scripted('resend', true, lost(), async message => {
      await delivered(message.outboxId)
      return taken()
    })
    const asked = await toBeRepeated(resend)
    await workWith(resend)
    const { email, events } = await read(asked)
    expect(email.status).toBe('DELIVERED')
    expect(typesOf({ events })).toEqual([...UNTIL_UNKNOWN, ...TRIED, 'RESOLVED', 'SENT', 'DELIVERED'])
    expect(await counted(db)).toEqual({ 'unknown_sends CONNECTION_LOST': 2, 'unknown_resolved provider-event': 2 })
  })
})
