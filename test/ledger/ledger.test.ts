import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Logger } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashPassword, putAdministrator } from '../../src/admins/administrators.ts'
import { countLedger } from '../../src/ledger/count.ts'
import { readImbalance, readLedger, takeUnlogged } from '../../src/ledger/ledger.ts'
import type { EmailStatus } from '../../src/outbox/states.ts'
import { logLosses } from '../../src/pipeline/housekeeping/log.ts'
import type { Database } from '../../src/platform/postgres/pool.ts'
import { uuidv7Floor } from '../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway } from '../support/gateway.ts'
import { notAcrossMidnight } from '../support/midnight.ts'

let gateway: TestGateway
let db: Database

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db
})
afterAll(() => gateway.stop())

/** Which events bring an e-mail to this status. */
const LIVES: Partial<Record<EmailStatus, string[]>> = {
  PENDING: [],
  PROCESSING: ['RECEIVED', 'VALIDATED', 'SENT_ATTEMPT'],
  RETRY_SCHEDULED: ['RECEIVED', 'RETRY_SCHEDULED'],
  UNKNOWN: ['RECEIVED', 'SENT_ATTEMPT', 'UNKNOWN'],
  SENT: ['RECEIVED', 'SENT_ATTEMPT', 'SENT'],
  DELIVERED: ['SENT_ATTEMPT', 'SENT', 'DELIVERED'],
  BOUNCED: ['SENT', 'BOUNCE'],
  COMPLAINED: ['SENT', 'DELIVERED', 'COMPLAINT'],
  REJECTED: ['REJECTED', 'DLQ_MOVED'],
  FAILED: ['VALIDATION_FAILED', 'FAILED', 'DLQ_MOVED'],
  DLQ: ['RETRY_SCHEDULED', 'FAILED', 'DLQ_MOVED'],
  EXPIRED: ['EXPIRED'],
  CANCELLED: ['CANCELLED'],
}
type Life = { status: EmailStatus; minute: number; test: boolean }
const ENDED = Object.keys(LIVES).filter(
  status => !['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'].includes(status),
)

let nextDay = Date.UTC(2025, 0, 1)
/** A day in the past that no other test has. */
async function makeDay(): Promise<string> {
  const day = new Date(nextDay).toISOString().slice(0, 10)
  nextDay += 86_400_000
  await db.pool.query('select ensure_email_partitions($1::date)', [day])
  return day
}

const idAt = (ms: number) => `${uuidv7Floor(new Date(ms)).slice(0, 14)}7${randomUUID().slice(15)}`

async function putEmails(day: string, companyId: string, lives: Life[]): Promise<string[]> {
  const rows = lives.map(life => {
    const ms = Date.parse(`${day}T00:00:00Z`) + life.minute * 60_000
    return { ...life, id: idAt(ms), at: new Date(ms).toISOString(), events: ['QUEUED', ...LIVES[life.status]!] }
  })
  await db.pool.query(
    `with x as materialized (select * from json_to_recordset($1::json) as x(id uuid, status text, test boolean, at timestamptz, events text[])),
     o as (insert into email_outbox (outbox_id, company_id, status, request_id, test, priority, on_unknown, max_attempts, created_at, expires_at, lease_id)
       select id, $2, status, 'r', test, 5, 'resend', 5, at, at, case when status = 'PROCESSING' then gen_random_uuid() end from x),
     r as (insert into email_recipients (outbox_id, ordinal, kind, address) select id, 0, 'to', 'maria@example.com' from x)
     insert into email_events (outbox_id, company_id, type, created_at) select id, $2, unnest(events), at from x`,
    [JSON.stringify(rows), companyId],
  )
  return rows.map(row => row.id)
}

/** Postgres has counted what this connection did. */
const flushStatistics = () => db.pool.query('select pg_stat_force_next_flush()')

/** As housekeeping does it, but until nothing is due. Answers what is newly found. */
async function count() {
  await countLedger(db.pool, { maxMs: 60_000, urgent: true })
  return takeUnlogged(db.pool)
}
const ledgerOf = (day: string) => readLedger(db.pool, { since: day, until: day, companyId: null })

const life = fc.record<Life>({
  status: fc.constantFrom(...(Object.keys(LIVES) as EmailStatus[])),
  minute: fc.integer({ min: 0, max: 1439 }),
  test: fc.boolean(),
})

describe('the ledger', () => {
  test('balances for every mix of lives', async () => {
    const { companyId } = await gateway.company()
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 40 }), async lives => {
        const day = await makeDay()
        await putEmails(day, companyId, lives)
        expect(await count()).toEqual([])
        const [row] = (await ledgerOf(day)).days
        const of = (...statuses: string[]) => lives.filter(one => statuses.includes(one.status)).length
        expect(row).toMatchObject({
          day,
          companyId,
          accepted: lives.length,
          ended: of(...ENDED),
          waiting: of('PENDING', 'PROCESSING', 'RETRY_SCHEDULED'),
          unknown: of('UNKNOWN'),
          imbalance: 0,
        })
      }),
      { numRuns: 4 },
    )
  })

  test('names a deleted row with company, day and id, raises the metric, and forgets it when the row is back', async () => {
    const { companyId, name } = await gateway.company()
    const day = await makeDay()
    const [, lost] = await putEmails(day, companyId, [
      { status: 'SENT', minute: 1, test: false },
      { status: 'DELIVERED', minute: 700, test: false },
    ])
    await count()
    expect(await ledgerOf(day)).toMatchObject({ balanced: true, days: [{ accepted: 2, ended: 2 }] })
    await db.pool.query('create table kept as select * from email_outbox where outbox_id = $1', [lost])
    await deleteByPsql('email_outbox', lost!)

    expect(await count()).toEqual([{ day, companyId, emails: 1, missing: [lost] }])
    expect(await ledgerOf(day)).toMatchObject({
      balanced: false,
      days: [{ companyName: name, accepted: 2, ended: 1, imbalance: 1, missing: [lost], acknowledged: null }],
    })
    expect((await gateway.call(null, 'GET', '/metrics')).text).toContain('\nledger_imbalance 1\n')

    await db.pool.query('insert into email_outbox select * from kept')
    await flushStatistics()
    expect(await count()).toEqual([])
    expect(await ledgerOf(day)).toMatchObject({ balanced: true, days: [{ imbalance: 0, missing: [] }] })
    expect(await readImbalance(db.pool)).toEqual({ open: 0, acknowledged: 0 })
  })

  test('reads a day again when its tables were written, and not otherwise', async () => {
    const { companyId } = await gateway.company()
    const day = await makeDay()
    const [waiting] = await putEmails(day, companyId, [{ status: 'PENDING', minute: 5, test: true }])
    await flushStatistics()
    await count()
    const countedAt = async () =>
      (await db.pool.query('select counted_at from email_days where day = $1', [day])).rows[0].counted_at.getTime()
    await db.pool.query(`update email_days set counted_at = counted_at - interval '1 hour' where day = $1`, [day])
    const before = await countedAt()
    await countLedger(db.pool, { maxMs: 60_000 })
    expect(await countedAt()).toBe(before)
    await db.pool.query(`update email_outbox set status = 'DELIVERED' where outbox_id = $1`, [waiting])
    await flushStatistics()
    await countLedger(db.pool, { maxMs: 60_000 })
    expect(await countedAt()).toBeGreaterThan(before)
    expect(await ledgerOf(day)).toMatchObject({ balanced: true, days: [{ ended: 1, waiting: 0 }] })
  })

  test('leaves a day to others when its process stops', async () => {
    const day = await makeDay()
    const { companyId } = await gateway.company()
    await putEmails(day, companyId, [{ status: 'SENT', minute: 5, test: false }])
    await countLedger(db.pool, { maxMs: 60_000, isStopping: () => true })
    expect(await ledgerOf(day)).toMatchObject({ uncountedDays: 1, days: [] })
    await countLedger(db.pool, { maxMs: 60_000 })
    expect(await ledgerOf(day)).toMatchObject({ uncountedDays: 0, days: [{ accepted: 1 }] })
  })

  test('notices an e-mail that was deleted with all its events, and a day whose table was dropped', async () => {
    const { companyId } = await gateway.company()
    const day = await makeDay()
    const [lost] = await putEmails(day, companyId, [
      { status: 'SENT', minute: 5, test: false },
      { status: 'PENDING', minute: 6, test: false },
    ])
    await count()
    await db.pool.query('delete from email_recipients where outbox_id = $1', [lost])
    await db.pool.query('delete from email_events where outbox_id = $1', [lost])
    await deleteByPsql('email_outbox', lost!)
    expect(await count()).toEqual([{ day, companyId, emails: 1, missing: [] }])
    expect(await ledgerOf(day)).toMatchObject({
      balanced: false,
      days: [{ accepted: 2, ended: 0, waiting: 1, imbalance: 1 }],
    })

    // As if the day had been counted while it went on.
    await db.pool.query(
      `update email_days set settled_until = ($1 || ' 00:06:30Z')::timestamptz where day = $1::date`,
      [day],
    )
    await putEmails(day, companyId, [{ status: 'SENT', minute: 7, test: false }])
    await flushStatistics()
    expect(await count()).toEqual([])
    expect(await ledgerOf(day), 'more mail of that day does not hide it').toMatchObject({
      days: [{ accepted: 3, ended: 1, waiting: 1, imbalance: 1 }],
    })

    await db.pool.query(`drop table email_outbox_${day.replaceAll('-', '')}`)
    expect(await count()).toEqual([expect.objectContaining({ day, emails: 3 })])
    await forget(day)
  })

  test('counts the current day while it goes on', async () => {
    await notAcrossMidnight()
    const company = await gateway.company()
    const day = new Date().toISOString().slice(0, 10)
    await gateway.call(company, 'POST', '/v1/email/send', {
      to: 'maria@example.com',
      subject: 'Hello',
      text: 'It works.',
    })
    await count()
    await gateway.call(company, 'POST', '/v1/email/send', {
      to: 'maria@example.com',
      subject: 'Hello',
      text: 'A moment later.',
    })
    const askedAt = new Date().toISOString()
    await count()
    const { days, countedAt } = await readLedger(db.pool, { since: day, until: null, companyId: company.companyId })
    expect(days).toMatchObject([{ accepted: 2, waiting: 2, ended: 0, imbalance: 0 }])
    expect(countedAt! >= askedAt).toBe(true)
  })

  test('ends when the clock was set back and a day seems to have been counted later than now', async () => {
    const day = await makeDay()
    await db.pool.query(
      `insert into email_days (day, counted_at, counting_since) values ($1, now() + interval '1 hour', now() + interval '1 hour')`,
      [day],
    )
    await countLedger(db.pool, { maxMs: 600_000, since: day, urgent: true })
    const { rows } = await db.pool.query('select counted_at <= now() as now from email_days where day = $1', [day])
    expect(rows).toEqual([{ now: true }])
  })

  test('is logged by the gateway once, whoever has found the loss', async () => {
    const day = await makeDay()
    const { companyId } = await gateway.company()
    const [lost] = await putEmails(day, companyId, [{ status: 'SENT', minute: 5, test: false }])
    await deleteByPsql('email_outbox', lost!)
    await countLedger(db.pool, { maxMs: 60_000, urgent: true })
    const lines: unknown[] = []
    const log = { error: (...line: unknown[]) => lines.push(line) } as unknown as Logger
    await logLosses(db.pool, log)
    await logLosses(db.pool, log)
    expect(lines).toEqual([
      [
        { count: 1, losses: [{ day, companyId, emails: 1, missing: [lost] }] },
        expect.stringContaining('The ledger does not balance'),
      ],
    ])
    await forget(day)
  })

  test('balances when what was lost is acknowledged with a reason, until more is lost', async () => {
    const day = await makeDay()
    const { companyId } = await gateway.company()
    const ids = await putEmails(
      day,
      companyId,
      [5, 6, 7, 8].map(minute => ({ status: 'SENT', minute, test: false })),
    )
    await count()
    const vanish = async (id: string) => {
      for (const table of ['email_recipients', 'email_events', 'email_outbox']) await deleteByPsql(table, id)
      await count()
    }
    await deleteByPsql('email_outbox', ids[0]!)
    await vanish(ids[1]!)
    expect(await readImbalance(db.pool)).toEqual({ open: 2, acknowledged: 0 })

    await putAdministrator(db.pool, 'ana', await hashPassword('correct horse battery'), { role: 'administrator' })
    const headers = { authorization: `Basic ${btoa('ana:correct horse battery')}` }
    const acknowledge = (body: object) => gateway.call(null, 'POST', '/admin/ledger/acknowledge', body, headers)
    expect((await acknowledge({ day })).status).toBe(422)
    const loss = { day, companyId, emails: 2, missing: [ids[0]] }
    const first = await acknowledge({ day, reason: 'Deleted for ana@example.com' })
    expect(first.body).toEqual({ acknowledged: [loss] })
    expect((await acknowledge({ day, reason: 'Again' })).status).toBe(404)
    await db.pool.query('update email_days set counted_at = null where day = $1', [day])
    await count()
    const reason = 'Deleted for a***@e***.com'
    const known = { emails: 2, at: expect.any(String), by: 'ana', reason }
    expect(await ledgerOf(day)).toMatchObject({
      balanced: true,
      acknowledgedEmails: 2,
      days: [{ accepted: 4, ended: 2, imbalance: 2, imbalancedSince: expect.any(String), acknowledged: known }],
    })
    expect(await readImbalance(db.pool)).toEqual({ open: 0, acknowledged: 2 })
    const { rows } = await db.pool.query(
      `select subject_type, subject_id, reason, after from audit_log where action = 'LEDGER_ACKNOWLEDGED'`,
    )
    expect(rows).toEqual([{ subject_type: 'ledger', subject_id: day, reason, after: { count: 2, losses: [loss] } }])

    await vanish(ids[2]!)
    expect(await ledgerOf(day)).toMatchObject({ balanced: false, acknowledgedEmails: 2 })
    expect(await readImbalance(db.pool)).toEqual({ open: 1, acknowledged: 2 })
    await forget(day)
  })
})

async function deleteByPsql(table: string, id: string): Promise<void> {
  await db.pool.query(`delete from ${table} where outbox_id = $1`, [id])
  await flushStatistics()
}

/** So that what one test has broken is not found by the next. */
async function forget(day: string): Promise<void> {
  await db.pool.query('update email_days set emails_dropped_at = now(), events_dropped_at = now() where day = $1', [
    day,
  ])
  await db.pool.query('delete from ledger')
}
