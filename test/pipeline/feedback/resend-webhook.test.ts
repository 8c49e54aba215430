import { randomBytes, randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertCompany } from '../../../src/companies/companies.ts'
import { hashEmail } from '../../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { type EventsApi, openEventsApi } from '../../support/events-api.ts'
import { workOffReports } from '../../support/feedback.ts'
import { accept, draft, readEmail, typesOf } from '../../support/outbox.ts'

const secret = () => `whsec_${randomBytes(24).toString('base64')}`
const [NEW, OLD, FOREIGN] = [secret(), secret(), secret()]

let eventsApi: EventsApi
let companyId: string

beforeAll(async () => {
  eventsApi = await openEventsApi({ RESEND_WEBHOOK_SECRET: `${NEW},${OLD}` })
  companyId = uuidv7()
  await insertCompany(eventsApi.db.pool, { companyId, name: 'resend' })
})
afterAll(() => eventsApi?.close())

type Signing = { secret?: string; id?: string; at?: Date; prefix?: 'svix' | 'webhook' }

/** Signed by the library that Resend's own SDK verifies with. */
function signed(
  body: string,
  { secret: with_ = NEW, id = `msg_${randomUUID()}`, at = new Date(), prefix = 'svix' }: Signing = {},
) {
  return {
    'content-type': 'application/json',
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(at.getTime() / 1000)),
    [`${prefix}-signature`]: new Webhook(with_).sign(id, at, body),
  }
}

const send = (body: string, headers: Record<string, string>) => eventsApi.post(body, headers, '/webhooks/resend')
const stored = async () =>
  (await eventsApi.db.pool.query('select count(*)::int as count from provider_events')).rows[0].count

type About = { outboxId: string; to: string; emailId?: string; tags?: unknown }

function event(type: string, { outboxId, to, emailId = `re_${outboxId}`, tags }: About, data: object = {}): string {
  return JSON.stringify({
    type,
    created_at: new Date().toISOString(),
    data: {
      created_at: new Date().toISOString(),
      email_id: emailId,
      from: 'Shop <shop@example.com>',
      to: [to],
      subject: 'Hello',
      tags: tags ?? { outbox_id: outboxId, attempt_id: uuidv7(), campaign: 'spring' },
      ...data,
    },
  })
}

async function mailTo(to = `${randomUUID()}@example.com`): Promise<About> {
  const [outboxId] = await accept(eventsApi.db.short, [draft(companyId, { to })])
  return { outboxId: outboxId!, to }
}

async function report(type: string, about: About, data: object = {}) {
  const body = event(type, about, data)
  expect((await send(body, signed(body))).status).toBe(200)
  await workOffReports(eventsApi.db.short)
  return readEmail(eventsApi.db.pool, about.outboxId)
}

describe('the signature', () => {
  test.each([
    ['svix headers', {}],
    ['webhook headers', { prefix: 'webhook' as const }],
    ['the old secret, while it is being changed', { secret: OLD }],
    ['four minutes ago', { at: new Date(Date.now() - 240_000) }],
  ])('%s: stored and answered', async (_, signing) => {
    const body = event('email.opened', { outboxId: uuidv7(), to: 'a@example.com' })
    expect(await send(body, signed(body, signing))).toMatchObject({ status: 200, body: { processed: true } })
  })

  test('the same message again is answered and changes nothing', async () => {
    const body = event('email.opened', { outboxId: uuidv7(), to: 'a@example.com' })
    const headers = signed(body)
    await send(body, headers)
    const before = await stored()
    expect([(await send(body, headers)).status, await stored()]).toEqual([200, before])
  })

  test('anything else is refused, and nothing is kept', async () => {
    const body = event('email.bounced', { outboxId: uuidv7(), to: 'a@example.com' })
    const good = signed(body)
    const before = await stored()
    const wrong: [string, Record<string, string>][] = [
      [body, signed(body, { secret: FOREIGN })],
      [body, signed(body, { at: new Date(Date.now() - 301_000) })],
      [body, signed(body, { at: new Date(Date.now() + 310_000) })],
      [`${body} `, good],
      [body.replace('bounced', 'delivered'), good],
      [body, { ...good, 'svix-id': 'msg_other' }],
      [body, { ...good, 'svix-id': 'x'.repeat(300) }],
      [body, { ...good, 'svix-timestamp': 'now' }],
      [body, { ...good, 'svix-signature': 'v1,AAAA' }],
      [body, { ...good, 'svix-signature': good['svix-signature']!.replace('v1,', 'v2,') }],
      [body, { ...good, 'svix-signature': '' }],
      [body, { 'content-type': 'application/json' }],
      ['', good],
    ]
    const answers = await Promise.all(wrong.map(([text, headers]) => send(text, headers)))
    expect(answers.filter(one => one.status < 400 || one.status >= 500)).toEqual([])
    expect(await stored()).toBe(before)
  })
})

describe('what an event does', () => {
  test('sent, delivered, complained', async () => {
    const about = await mailTo()
    expect((await report('email.sent', about)).email).toMatchObject({
      status: 'SENT',
      message_id: `re_${about.outboxId}`,
    })
    expect((await report('email.delivered', about)).email).toMatchObject({
      status: 'DELIVERED',
      delivered_at: expect.any(Date),
    })
    const stored = await report('email.complained', about)
    expect(stored.email.status).toBe('COMPLAINED')
    expect(typesOf(stored)).toEqual(['QUEUED', 'SENT', 'DELIVERED', 'COMPLAINT'])
  })

  test.each([
    ['Permanent', 'BOUNCED', 'HARD_BOUNCE'],
    ['Transient', 'BOUNCED', undefined],
  ])('a %s bounce', async (type, status, reason) => {
    const about = await mailTo()
    const bounce = { type, subType: 'General', message: `550 no ${about.to} here`, diagnosticCode: [`550 ${about.to}`] }
    const { email, events } = await report('email.bounced', about, { bounce })
    expect(email).toMatchObject({ status, bounce_type: type })
    expect(events.at(-1)!.metadata).toMatchObject({
      bounceType: type,
      bounceSubType: 'General',
      recipientHash: hashEmail(about.to),
    })
    expect(JSON.stringify(events)).not.toContain(about.to)
    const list = await eventsApi.db.pool.query('select reason from suppression_list where email_hash = $1', [
      hashEmail(about.to),
    ])
    expect(list.rows[0]?.reason).toBe(reason)
  })

  test('suppressed by Resend is a bounce for good; failed is a dead letter; delayed has left', async () => {
    const [suppressed, failed, delayed] = [await mailTo(), await mailTo(), await mailTo()]
    const data = { suppressed: { type: 'OnAccountSuppressionList', message: 'on the list' } }
    expect((await report('email.suppressed', suppressed, data)).email).toMatchObject({
      status: 'BOUNCED',
      bounce_type: 'Permanent',
    })
    const dead = await report('email.failed', failed, { failed: { reason: 'reached_daily_quota' } })
    expect([dead.email.status, dead.dead.last_failure_reason]).toEqual(['REJECTED', 'reached_daily_quota'])
    expect((await report('email.delivery_delayed', delayed)).email.status).toBe('SENT')
  })

  test('tags as a list, and none at all', async () => {
    const listed = await mailTo()
    const tags = [{ name: 'outbox_id', value: listed.outboxId }]
    expect((await report('email.delivered', { ...listed, tags })).email.status).toBe('DELIVERED')
    const untagged = await mailTo()
    await report('email.sent', untagged)
    expect((await report('email.delivered', { ...untagged, tags: {} })).email.status).toBe('DELIVERED')
  })
})
