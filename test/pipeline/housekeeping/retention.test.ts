import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { purgeAudit } from '../../../src/audit/audit.ts'
import { countLedger } from '../../../src/ledger/count.ts'
import { readImbalance, readLedger, takeUnlogged } from '../../../src/ledger/ledger.ts'
import { readHealth } from '../../../src/operations/doctor/work.ts'
import { dropOldDays } from '../../../src/outbox/retention.ts'
import type { Database } from '../../../src/platform/postgres/pool.ts'
import { uuidv7Floor } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestCompany, type TestGateway } from '../../support/gateway.ts'
import { notAcrossMidnight } from '../../support/midnight.ts'

let gateway: TestGateway
let db: Database
let company: TestCompany

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db
  company = await gateway.company()
})
afterAll(() => gateway.stop())

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

async function putEmail(day: string, status: string): Promise<string> {
  const id = `${uuidv7Floor(new Date(`${day}T12:00:00Z`)).slice(0, 14)}7${randomUUID().slice(15)}`
  await db.pool.query('select ensure_email_partitions($1::date)', [day])
  await db.pool.query(
    `with o as (insert into email_outbox (outbox_id, company_id, status, request_id, test, priority, on_unknown, max_attempts, created_at, expires_at)
       values ($1, $2, $3, 'r', false, 5, 'resend', 5, $4::date, $4::date)),
     r as (insert into email_recipients (outbox_id, ordinal, kind, address) values ($1, 0, 'to', 'maria@example.com')),
     c as (insert into email_content (outbox_id, text) values ($1, 'It works.'))
     insert into email_events (outbox_id, company_id, type, created_at)
     select $1, $2, unnest(case when $3 = 'PENDING' then '{QUEUED}'::text[] else array['QUEUED', $3] end), $4::date`,
    [id, company.companyId, status, day],
  )
  return id
}

async function tablesOf(day: string): Promise<string[]> {
  const { rows } = await db.pool.query(
    `select relname from pg_class where relkind = 'r' and relname ~ ('^email_.*_' || $1) order by 1`,
    [day.replaceAll('-', '')],
  )
  return rows.map(row => row.relname.replace(/^email_|_\d+$/g, ''))
}

/** Answers what is newly found. */
async function count() {
  await countLedger(db.pool, { maxMs: 60_000, urgent: true })
  return takeUnlogged(db.pool)
}

test('content, events and e-mails are dropped each in its time, which the ledger does not take for a loss', async () => {
  await notAcrossMidnight()
  const days = { content: dayBefore(31), events: dayBefore(91), emails: dayBefore(366), kept: dayBefore(30) }
  const ids: Record<string, string> = {}
  for (const [kind, day] of Object.entries(days)) ids[kind] = await putEmail(day, 'SENT')
  await count()
  const dropped = await dropOldDays(db.pool, { content: 30, events: 90, emails: 365 })
  expect(dropped).toEqual([
    { kind: 'emails', day: days.emails },
    { kind: 'events', day: days.events },
    { kind: 'content', day: days.events },
    { kind: 'content', day: days.content },
  ])
  expect(await tablesOf(days.kept)).toEqual(['attachments', 'content', 'events', 'outbox', 'recipients'])
  expect(await tablesOf(days.content)).toEqual(['events', 'outbox', 'recipients'])
  expect(await tablesOf(days.events)).toEqual(['outbox', 'recipients'])
  expect(await tablesOf(days.emails)).toEqual([])

  expect(await count()).toEqual([])
  expect(await readImbalance(db.pool)).toEqual({ open: 0, acknowledged: 0 })
  const ledger = await readLedger(db.pool, { since: days.emails, until: days.kept, companyId: company.companyId })
  expect(ledger).toMatchObject({ balanced: true, uncountedDays: 0 })
  expect(ledger.days.map(one => [one.day, one.accepted, one.ended])).toEqual([
    [days.kept, 1, 1],
    [days.content, 1, 1],
    [days.events, 1, 1],
    [days.emails, 1, 1],
  ])
  // What is left of them is still answered.
  for (const kind of ['content', 'events', 'kept'])
    expect(await gateway.call(company, 'GET', `/v1/email/${ids[kind]}`)).toMatchObject({ status: 200 })
  expect(await gateway.call(company, 'GET', `/v1/email/${ids.emails}`)).toMatchObject({ status: 404 })
  expect(await dropOldDays(db.pool, { content: 30, events: 90, emails: 365 })).toEqual([])
})

test('a day with an open e-mail or a dead letter that can be replayed is kept; the content of its other e-mails goes', async () => {
  const day = dayBefore(400)
  const [open, dead, sent] = [
    await putEmail(day, 'PENDING'),
    await putEmail(day, 'FAILED'),
    await putEmail(day, 'SENT'),
  ]
  await db.pool.query(
    `insert into dead_letters (outbox_id, company_id, failed_attempts, last_failure_reason, last_failure_at, retry_history, original_data, enqueued_at)
     values ($1, $2, 1, 'reason', now(), '[]', '{}', now())`,
    [dead, company.companyId],
  )
  await count()
  expect(await dropOldDays(db.pool, { content: 30, events: 90, emails: 365 })).toEqual([])
  const { rows } = await db.pool.query('select outbox_id from email_content where outbox_id = any($1)', [
    [open, dead, sent],
  ])
  expect(rows.map(row => row.outbox_id).sort()).toEqual([open, dead].sort())

  await db.pool.query(`update email_outbox set status = 'CANCELLED' where outbox_id = $1`, [open])
  await db.pool.query(`insert into email_events (outbox_id, company_id, type) values ($1, $2, 'CANCELLED')`, [
    open,
    company.companyId,
  ])
  await db.pool.query('update dead_letters set original_data = null where outbox_id = $1', [dead])
  await db.pool.query('update email_days set counted_at = null where day = $1', [day])
  await count()
  expect(await dropOldDays(db.pool, { content: 0, events: 0, emails: 365 })).toEqual([{ kind: 'emails', day }])
  expect((await db.pool.query('select from dead_letters where outbox_id = $1', [dead])).rowCount).toBe(0)
})

test('a day that has lost an e-mail is kept for a week, or until it is acknowledged; its sums stay', async () => {
  const day = dayBefore(450)
  const lost = await putEmail(day, 'SENT')
  await count()
  await db.pool.query('delete from email_outbox where outbox_id = $1', [lost])
  await db.pool.query('select pg_stat_force_next_flush()')
  expect(await count()).toMatchObject([{ day, emails: 1, missing: [lost] }])
  const drop = () => dropOldDays(db.pool, { content: 0, events: 0, emails: 365 })
  expect(await drop()).toEqual([])
  await db.pool.query(`update ledger set imbalanced_since = now() - interval '8 days' where day = $1`, [day])
  expect(await drop()).toEqual([{ kind: 'emails', day }])
  expect(await readLedger(db.pool, { since: day, until: day, companyId: null })).toMatchObject({
    balanced: true,
    days: [{ accepted: 1, ended: 0, imbalance: 1, missing: [], acknowledged: { emails: 1, by: 'retention' } }],
  })
})

test('a drop that was interrupted is finished, and transactions that use the table neither lose anything nor are waited on by others', async () => {
  const day = dayBefore(500)
  await putEmail(day, 'SENT')
  await count()
  const reader = await db.pool.connect()
  try {
    await reader.query('begin')
    await reader.query('select count(*) from email_outbox')
    const dropping = dropOldDays(db.pool, { content: 30, events: 0, emails: 0 })
    await gateway.call(company, 'POST', '/v1/email/send', {
      to: 'a@example.com',
      subject: 'Hello',
      text: 'While it drops.',
    })
    await reader.query('commit')
    expect(await dropping).toContainEqual({ kind: 'content', day })
  } finally {
    reader.release()
  }
  const events = `email_events_${day.replaceAll('-', '')}`
  await db.pool.query(`update pg_inherits set inhdetachpending = true where inhrelid = $1::regclass`, [events])
  expect(await dropOldDays(db.pool, { content: 0, events: 90, emails: 0 })).toEqual([{ kind: 'events', day }])
  expect(await tablesOf(day)).toEqual(['outbox', 'recipients'])
})

test('audit entries go after their time, and none with 0', async () => {
  await db.pool.query(
    `insert into audit_log (performed_at, performed_by, action, subject_type, subject_id)
     values (now() - interval '11 days', 'ana', 'COMPANY_PAUSED', 'company', 'old'), (now() - interval '9 days', 'ana', 'COMPANY_PAUSED', 'company', 'young')`,
  )
  const subjects = async () =>
    (await db.pool.query(`select subject_id from audit_log where subject_id in ('old', 'young') order by 1`)).rows.map(
      row => row.subject_id,
    )
  await purgeAudit(db.pool, 0)
  expect(await subjects()).toEqual(['old', 'young'])
  await purgeAudit(db.pool, 10)
  expect(await subjects()).toEqual(['young'])
})

test('a partition that is detached or dropped ahead is missed, and made or attached again', async () => {
  await notAcrossMidnight()
  const until = async () => (await readHealth(db.pool)).partitionsUntil
  const ahead = (days: number) => dayBefore(-days).replaceAll('-', '')
  const last = (await until())!
  expect(last >= ahead(2)).toBe(true)
  await db.pool.query(`alter table email_events detach partition email_events_${ahead(2)}`)
  expect(await until()).toBe(ahead(1))
  await db.pool.query(`drop table email_content_${ahead(1)}`)
  expect(await until()).toBe(ahead(0))
  for (const days of [1, 2]) await db.pool.query('select ensure_email_partitions($1::date)', [dayBefore(-days)])
  expect(await until()).toBe(last)
})
