import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readyDueEmails } from '../../src/outbox/schedule.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { Semaphore } from '../../src/platform/semaphores.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../support/gateway.ts'
import { read, send, sendOk } from '../support/mail.ts'
import {
  claim,
  EMPTY_OUTBOX,
  forgotten,
  makeDue,
  readEmail,
  receive,
  typesOf,
  worker,
  workOff,
} from '../support/outbox.ts'

const SENT = ['QUEUED', 'RECEIVED', 'VALIDATED', 'SENT_ATTEMPT', 'SENT']

let gateway: TestGateway
let company: TestCompany
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
  company = await gateway.company()
})
afterAll(() => gateway?.stop())
beforeEach(async () => {
  await db.query(`${EMPTY_OUTBOX}; delete from suppression_list`)
})
afterEach(async () => {
  expect(await forgotten(db)).toEqual([])
})

const accepted = (change: Record<string, unknown> = {}) => sendOk(gateway, company, change)
const readRows = (outboxId: string) => readEmail(db, outboxId)

async function suppress(address: string, { companyId = null as string | null, until = 'infinity' } = {}) {
  await db.query(
    `insert into suppression_list (email_hash, reason, company_id, expires_at) values ($1, 'HARD_BOUNCE', $2, $3)`,
    [hashEmail(address), companyId, until === 'infinity' ? null : until],
  )
}

describe('suppressed after it was accepted and before it is sent', () => {
  test('its to: REJECTED, nothing leaves, and it is no dead letter', async () => {
    const outboxId = await accepted({ cc: ['bob@example.com'] })
    await suppress('maria@example.com')
    await workOff(db)
    const stored = await readRows(outboxId)
    expect(typesOf(stored)).toEqual(['QUEUED', 'RECEIVED', 'REJECTED'])
    expect(stored.events[2]!.metadata).toMatchObject({
      errorCode: 'RECIPIENT_SUPPRESSED',
      recipient: hashEmail('maria@example.com'),
      suppressed: [hashEmail('maria@example.com')],
      willRetry: false,
    })
    expect(stored.email).toMatchObject({
      status: 'REJECTED',
      error_code: 'RECIPIENT_SUPPRESSED',
      failed_at: expect.any(Date),
      started_at: null,
      provider: null,
    })
    expect([stored.dead, stored.inbox]).toEqual([undefined, []])
    expect(stored.recipients.map(row => row.status)).toEqual(['REJECTED', 'REJECTED'])
  })

  test('the company reads why, and never the address of the event', async () => {
    const outboxId = await accepted()
    await suppress('maria@example.com')
    await workOff(db)
    const email = await read(gateway, company, outboxId)
    expect(email).toMatchObject({ status: 'REJECTED', lastError: { code: 'RECIPIENT_SUPPRESSED' } })
    expect(JSON.stringify(email.events)).not.toContain('maria@')
  })

  test('its cc and bcc: left out, named by hash in SENT, and the others get it', async () => {
    const outboxId = await accepted({
      cc: ['bob@example.com', 'carol@example.com'],
      bcc: ['dave@example.com', 'erin@example.com'],
    })
    await suppress('bob@example.com')
    await suppress('erin@example.com')
    await workOff(db)
    const stored = await readRows(outboxId)
    expect(typesOf(stored)).toEqual(SENT)
    expect(stored.events.at(-1)!.metadata.suppressed).toEqual([
      hashEmail('bob@example.com'),
      hashEmail('erin@example.com'),
    ])
    expect(stored.inbox).toHaveLength(1)
    expect(stored.inbox[0]!.message).toMatchObject({
      to: ['maria@example.com'],
      cc: ['carol@example.com'],
      bcc: ['dave@example.com'],
    })
    expect(stored.recipients.map(row => [row.kind, row.status, row.suppressed])).toEqual([
      ['to', 'SENT', false],
      ['cc', 'REJECTED', true],
      ['cc', 'SENT', false],
      ['bcc', 'SENT', false],
      ['bcc', 'REJECTED', true],
    ])
    expect(stored.email.status).toBe('SENT')
  })

  test('between two attempts: the retry does not leave', async () => {
    const outboxId = await accepted({ to: 'unavailable@simulator.test' })
    await workOff(db)
    expect((await readRows(outboxId)).email.status).toBe('RETRY_SCHEDULED')
    await suppress('unavailable@simulator.test')
    await makeDue(db, [outboxId])
    await readyDueEmails(db, 1000)
    await workOff(db)
    const stored = await readRows(outboxId)
    expect(stored.email).toMatchObject({ status: 'REJECTED', attempts: 2, next_attempt_at: null })
    expect(stored.dead).toBeUndefined()
  })

  test('the spelling of the address does not matter', async () => {
    const outboxId = await accepted({ to: 'Maria@Example.COM' })
    await suppress('maria@example.com')
    await workOff(db)
    expect((await readRows(outboxId)).email.status).toBe('REJECTED')
  })

  test('the others in the batch are sent', async () => {
    const ids = await Promise.all([
      accepted(),
      accepted({ to: 'bob@example.com' }),
      accepted({ to: 'carol@example.com' }),
    ])
    await suppress('bob@example.com')
    await workOff(db)
    expect(await Promise.all(ids.map(async id => (await readRows(id)).email.status))).toEqual([
      'SENT',
      'REJECTED',
      'SENT',
    ])
  })
})

describe('an entry that does not count', () => {
  test('because it has expired lets the mail through, to and cc', async () => {
    const outboxId = await accepted({ cc: ['bob@example.com'] })
    const past = new Date(Date.now() - 1000).toISOString()
    await suppress('maria@example.com', { until: past })
    await suppress('bob@example.com', { until: past })
    await workOff(db)
    const stored = await readRows(outboxId)
    expect(typesOf(stored)).toEqual(SENT)
    expect(stored.inbox[0]!.message.cc).toEqual(['bob@example.com'])
    expect(stored.events.at(-1)!.metadata).not.toHaveProperty('suppressed')
  })

  test('an entry with a time ahead still counts', async () => {
    const outboxId = await accepted()
    await suppress('maria@example.com', { until: new Date(Date.now() + 60_000).toISOString() })
    await workOff(db)
    expect((await readRows(outboxId)).email.status).toBe('REJECTED')
  })

  test('because it is another company’s lets the mail through; one’s own does not', async () => {
    const other = await gateway.company()
    const [own, theirs] = [await accepted(), await sendOk(gateway, other)]
    await suppress('maria@example.com', { companyId: other.companyId })
    await workOff(db)
    expect([(await readRows(own)).email.status, (await readRows(theirs)).email.status]).toEqual(['SENT', 'REJECTED'])
  })
})

test('what acceptance refuses is not stored, and whom acceptance left out stays left out', async () => {
  await suppress('bob@example.com')
  expect((await send(gateway, company, { to: 'bob@example.com', subject: 'Hello', text: 'Hi' })).status).toBe(403)
  const outboxId = await accepted({ cc: ['bob@example.com'] })
  await db.query('delete from suppression_list')
  await workOff(db)
  const stored = await readRows(outboxId)
  expect(stored.inbox[0]!.message.cc, 'its outcome was in the answer to the request').toEqual([])
  expect(stored.email.status).toBe('SENT')
})

test('who was suppressed while the e-mail waited for its turn at the provider gets nothing', async () => {
  const outboxId = await accepted()
  let ms = 0
  const waiting = {
    waitForRate: async () => {
      ms += 60_000
      await suppress('maria@example.com')
      return true
    },
    nowMs: () => ms,
  }
  for (const claimed of await receive(db, await claim(db, 10))) await worker(db, waiting)(claimed)
  expect((await readRows(outboxId)).email.status, 'it is ready again').toBe('PENDING')
  await workOff(db)
  const stored = await readRows(outboxId)
  expect([stored.email.status, stored.email.error_code, stored.inbox.length]).toEqual([
    'REJECTED',
    'RECIPIENT_SUPPRESSED',
    0,
  ])
})

test('so does who was suppressed while it waited for a free slot after it had been read', async () => {
  const outboxId = await accepted()
  let ms = 0
  const starts = {
    enter: async () => {
      ms += 5_000
      await suppress('maria@example.com')
      return true
    },
    leave: () => {},
  }
  const slots = { starts, calls: new Semaphore(1) }
  for (const claimed of await receive(db, await claim(db, 10))) await worker(db, { slots, nowMs: () => ms })(claimed)
  expect((await readRows(outboxId)).email.status, 'it is ready again').toBe('PENDING')
  await workOff(db)
  expect((await readRows(outboxId)).inbox).toEqual([])
})
