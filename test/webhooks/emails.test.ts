import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expireWaitingEmails } from '../../src/outbox/expiry.ts'
import { storeProviderEvents } from '../../src/outbox/provider-events.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { putCompanyNotice } from '../../src/webhooks/enqueue.ts'
import { webhookEventSchema } from '../../src/webhooks/events.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../support/gateway.ts'
import { rows, sendOk, untilStatus } from '../support/mail.ts'
import { type SesKind, sesEvent } from '../support/ses-events.ts'
import { deliveriesOf, type Receiver, register, startReceiver, withStatus } from '../support/webhook-receiver.ts'

const AT = '2026-11-15T10:00:00.000Z'

let gateway: TestGateway
let company: TestCompany
let receiver: Receiver

beforeAll(async () => {
  gateway = await startTestGateway({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } })
  receiver = await startReceiver()
})
afterAll(async () => {
  await gateway.stop()
  await receiver.close()
})

/** A company of its own with one endpoint, and what came to that. */
async function listening(eventTypes?: string[]) {
  company = await gateway.company()
  const path = `/${company.name}`
  const { id } = await register(gateway, company, receiver.url + path, eventTypes ? { eventTypes } : {})
  const got = async (count: number) => (await receiver.got(path, count)).map(one => one.body)
  return { id, path, got }
}

describe('the company is notified', () => {
  test('of an e-mail that was sent, once, with all that the documents list', async () => {
    const { id, path, got } = await listening()
    const outboxId = await sendOk(
      gateway,
      company,
      { to: 'Maria@example.com', externalId: 'BOL-1', tags: ['order'] },
      { 'x-request-id': 'r-42' },
    )
    const [event] = await got(1)
    const email = await untilStatus(gateway, company, outboxId, 'SENT')
    expect(event).toEqual({
      type: 'email.sent',
      timestamp: email.sentAt,
      data: {
        sequence: expect.any(Number),
        outboxId,
        externalId: 'BOL-1',
        companyId: company.companyId,
        requestId: 'r-42',
        recipient: 'Maria@example.com',
        recipientHash: hashEmail('maria@example.com'),
        from: email.from,
        to: ['Maria@example.com'],
        subject: 'Hello',
        tags: ['order'],
        test: false,
        messageId: email.messageId,
        sentAt: email.sentAt,
        attempts: 1,
        processingTimeMs: email.durationMs,
      },
    })
    expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
    await until(
      () => deliveriesOf(gateway, company, id),
      ([one]) => one.status === 'delivered' && one.outboxId === outboxId,
    )
    expect(receiver.at(path)).toHaveLength(1)
    expect(receiver.at(path)[0]!.headers['webhook-id']).toMatch(/^msg_[0-9a-f-]{36}$/)
  })

  test('of an e-mail that the provider refused, once, as a failure with its cause', async () => {
    const { path, got } = await listening()
    const outboxId = await sendOk(gateway, company, { to: 'reject@simulator.test' })
    const [event] = await got(1)
    expect(event).toMatchObject({
      type: 'email.failed',
      data: { outboxId, failureCode: 'REJECTED', attempts: 1, recipient: 'reject@simulator.test' },
    })
    expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
    await untilStatus(gateway, company, outboxId, 'REJECTED')
    const types = await rows(gateway, 'select type from webhook_deliveries where outbox_id = $1', [outboxId])
    expect(types).toEqual([{ type: 'email.failed' }])
    expect(receiver.at(path)).toHaveLength(1)
  })

  test('of an e-mail whose attempts are used up, once, as DLQ_MOVED', async () => {
    const { got } = await listening()
    const outboxId = await sendOk(gateway, company, { to: 'unavailable@simulator.test' })
    await gateway.db.pool.query('update email_outbox set max_attempts = 1 where outbox_id = $1', [outboxId])
    await until(
      async () => {
        await gateway.db.pool.query(
          `with woken as (update email_outbox set next_attempt_at = now() where outbox_id = $1 and next_attempt_at is not null)
           update email_scheduled set due_at = now() where outbox_id = $1`,
          [outboxId],
        )
        return (await gateway.call(company, 'GET', `/v1/email/${outboxId}`)).body.status
      },
      status => status === 'DLQ',
    )
    const [event] = await got(1)
    expect(event).toMatchObject({ type: 'email.failed', data: { outboxId, failureCode: 'DLQ_MOVED' } })
    expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
    const types = await rows(gateway, 'select type from webhook_deliveries where outbox_id = $1', [outboxId])
    expect(types).toEqual([{ type: 'email.failed' }])
  })

  test('of an e-mail that expired, when it asked for that', async () => {
    const { got } = await listening(['email.expired'])
    await gateway.db.pool.query('update companies set paused_at = now(), pause_reason = $2 where company_id = $1', [
      company.companyId,
      'for the test',
    ])
    const outboxId = await sendOk(gateway, company)
    // Older than a day, as only such e-mails are looked at.
    const old = `019a0000${randomUUID().slice(8)}`
    await gateway.db.pool.query(`select ensure_email_partitions('2025-10-20'::date)`)
    await gateway.db.pool.query(
      `with o as (update email_outbox set outbox_id = $2, expires_at = now() where outbox_id = $1 returning 1),
       r as (update email_recipients set outbox_id = $2 where outbox_id = $1)
       update email_ready set outbox_id = $2 where outbox_id = $1`,
      [outboxId, old],
    )
    expect(await expireWaitingEmails(gateway.db.short)).toEqual({ expired: [old], unknown: [] })
    const [event] = await got(1)
    expect(event).toMatchObject({ type: 'email.expired', data: { outboxId: old, attempts: 0 } })
    expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
  })

  test('of a recipient that was suppressed before the send, as a failure and by its own name', async () => {
    const { got } = await listening(['email.failed', 'email.suppressed'])
    await gateway.db.pool.query(
      `update companies set paused_at = now(), pause_reason = 'for the test' where company_id = $1`,
      [company.companyId],
    )
    const to = `${randomUUID()}@example.com`
    const outboxId = await sendOk(gateway, company, { to })
    await gateway.db.pool.query(`insert into suppression_list (email_hash, reason) values ($1, 'MANUAL')`, [
      hashEmail(to),
    ])
    await gateway.db.pool.query(`update companies set paused_at = null, pause_reason = null where company_id = $1`, [
      company.companyId,
    ])
    const events = await got(2)
    expect(events.map(one => one.type).sort()).toEqual(['email.failed', 'email.suppressed'])
    for (const event of events) {
      expect(event.data).toMatchObject({ outboxId, recipientHash: hashEmail(to) })
      expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
    }
  })

  test('only of what it asked for, at each of its endpoints', async () => {
    const { got, path } = await listening(['email.bounced'])
    await register(gateway, company, `${receiver.url}${path}-sent`, { eventTypes: ['email.sent'] })
    const outboxId = await sendOk(gateway, company, { to: 'bounce@simulator.test' })
    const [bounced] = await got(1)
    expect(bounced).toMatchObject({
      type: 'email.bounced',
      data: { outboxId, bounceType: 'Permanent', recipient: 'bounce@simulator.test' },
    })
    const [sent] = await receiver.got(`${path}-sent`, 1)
    expect(sent!.body.type).toBe('email.sent')
    expect(receiver.at(path).concat(receiver.at(`${path}-sent`))).toHaveLength(2)
  })

  test('what became of one e-mail in the order of its sequence, also when the first is not taken at once', async () => {
    const { id, path, got } = await listening(['email.sent', 'email.delivered', 'email.complained'])
    receiver.answer(path, (response, _, nth) => withStatus(nth === 1 ? 500 : 200)(response, _, nth))
    const outboxId = await sendOk(gateway, company, { to: 'complaint@simulator.test' })
    await until(
      () => deliveriesOf(gateway, company, id),
      found => found.length >= 2 && found.some(one => one.nextAttemptAt !== null && one.attempts === 1),
    )
    // The second is ready, and stays behind the first, which waits for its retry.
    expect(receiver.at(path)).toHaveLength(1)
    await until(
      async () => {
        await gateway.db.pool.query(
          `update webhook_deliveries set due_at = now() where due_at is not null and endpoint_id = $1`,
          [id],
        )
        return deliveriesOf(gateway, company, id)
      },
      found => found.every(one => one.status === 'delivered'),
    )
    const [first, ...rest] = await got(3)
    expect(rest[0]!.type).toBe(first!.type)
    const sequences = rest.map(one => one.data.sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
    expect(new Set(sequences).size).toBe(sequences.length)
    expect(rest.map(one => one.type)[0]).toBe('email.sent')
    expect(rest.every(one => (one.data as { outboxId: string }).outboxId === outboxId)).toBe(true)
  })

  test('of what the provider reports later, each report once, however often it comes', async () => {
    const eventTypes = ['email.failed', 'email.delivered', 'email.bounced', 'email.complained']
    const { path, got } = await listening(eventTypes)
    async function reported(...kinds: SesKind[]): Promise<string> {
      const to = `${randomUUID()}@example.com`
      const outboxId = await sendOk(gateway, company, { to })
      const { messageId } = await untilStatus(gateway, company, outboxId, 'SENT')
      for (const kind of [...kinds, ...kinds]) {
        const payload = JSON.stringify(sesEvent(kind, { messageId, to: [to], outboxId, at: AT }))
        await storeProviderEvents(gateway.db.pool, [{ provider: 'ses', externalId: randomUUID(), payload }])
      }
      return outboxId
    }
    const fine = await reported('Send', 'Delivery', 'Complaint')
    const bad = await reported('Bounce')
    const refused = await reported('Reject')
    const events = await got(4)
    const of = (outboxId: string) =>
      events.filter(one => (one.data as { outboxId: string }).outboxId === outboxId).map(one => one.type)
    expect(of(fine)).toEqual(['email.delivered', 'email.complained'])
    expect(of(bad)).toEqual(['email.bounced'])
    expect(of(refused)).toEqual(['email.failed'])
    for (const event of events) expect(webhookEventSchema.safeParse(event).error).toBeUndefined()
    const named = (type: string) => events.find(one => one.type === type)!.data
    expect(named('email.failed')).toMatchObject({ failureCode: 'REJECTED', reason: 'Bad content' })
    expect(named('email.bounced')).toMatchObject({ bounceType: 'Permanent', bouncedAt: AT })
    expect(named('email.delivered')).toMatchObject({ deliveredAt: AT })
    await until(
      () => rows(gateway, `select 1 from provider_events where state = 'waiting'`),
      found => found.length === 0,
    )
    expect(receiver.at(path)).toHaveLength(4)
  })

  test('of what concerns itself, when it asked for that', async () => {
    const { got } = await listening(['company.warned'])
    const data = { bounceRate: 0.06 }
    await putCompanyNotice(gateway.db.pool, { companyId: company.companyId, type: 'company.paused', data })
    await putCompanyNotice(gateway.db.pool, { companyId: company.companyId, type: 'company.warned', data })
    expect(await got(1)).toMatchObject([
      { type: 'company.warned', data: { companyId: company.companyId, bounceRate: 0.06 } },
    ])
  })
})

test('a company without endpoints leaves nothing in the queue', async () => {
  company = await gateway.company()
  const outboxId = await sendOk(gateway, company)
  await untilStatus(gateway, company, outboxId, 'SENT')
  expect(await rows(gateway, 'select from webhook_deliveries where company_id = $1', [company.companyId])).toEqual([])
})
