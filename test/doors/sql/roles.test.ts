import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSqlAccess, revokeSqlAccess, roleNameOf, scramVerifier } from '../../../src/companies/sql-access.ts'
import { findLongestLockWait } from '../../../src/operations/doctor/database.ts'
import { startTestGateway, type TestCompany, type TestGateway, until } from '../../support/gateway.ts'
import { sendOk, untilStatus } from '../../support/mail.ts'

const PASSWORD = 'correct-horse-battery'
const SECRET = 'secret@bank.example'

let gateway: TestGateway
let shop: TestCompany
let bank: TestCompany
/** Sessions of the two companies' own roles. */
let asShop: pg.Client
let asBank: pg.Client

beforeAll(async () => {
  gateway = await startTestGateway()
  const first = await gateway.company({ name: 'first' })
  shop = await gateway.company({ name: 'shop' })
  bank = await gateway.company({ name: 'bank' })
  asShop = await sessionOf(shop)
  asBank = await sessionOf(bank)
  await enqueueAs(asBank, SECRET)
  await sendOk(gateway, first, { to: 'first@first.example' })
})
afterAll(async () => {
  await asShop?.end()
  await asBank?.end()
  const roles = [shop, bank].map(one => roleNameOf(one.companyId))
  for (const role of roles) await revokeSqlAccess(gateway.db.pool, role, true)
  await gateway?.stop()
})

async function sessionOf({ companyId }: TestCompany): Promise<pg.Client> {
  const role = roleNameOf(companyId)
  await createSqlAccess(gateway.db.pool, { role, companyId, verifier: scramVerifier(PASSWORD) })
  const url = new URL(gateway.databaseUrl)
  url.username = role
  url.password = PASSWORD
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  return client
}

async function enqueueAs(session: pg.Client, to: string): Promise<string> {
  const { rows } = await session.query(
    `select enqueue_email(null, 'welcome_user', $1, '{"user_data": {"full_name": "X"}}') as id`,
    [to],
  )
  return rows[0].id
}

describe('the role of a company', () => {
  test('enqueues for its company, whatever company it sets', async () => {
    await asShop.query(`set email_gateway.company = 'bank'`)
    const id = await enqueueAs(asShop, 'maria@shop.example')
    await untilStatus(gateway, shop, id, 'SENT')
    const { rows } = await asShop.query('select id, recipient_email, status from email_queue')
    expect(rows).toEqual([{ id, recipient_email: 'maria@shop.example', status: 'sent' }])
    expect((await asShop.query('select distinct companyid from email_logs')).rows).toEqual([
      { companyid: shop.companyId },
    ])
    await asShop.query('reset email_gateway.company')
  })

  test('inserts into email_queue, also what it selects from its own tables', async () => {
    await asShop.query(
      `create temp table people (address text); insert into people values ('a@shop.example'), ('b@shop.example')`,
    )
    const { rows } = await asShop.query(
      `insert into email_queue (template_type, recipient_email, payload)
       select 'welcome_user', address, '{"user_data": {"full_name": "X"}}' from people returning id`,
    )
    for (const { id } of rows) await untilStatus(gateway, shop, id, 'SENT')
  })

  test("cannot change another company's e-mails, and learns nothing about them", async () => {
    const { rows } = await asBank.query(`select id from email_queue where recipient_email = $1`, [SECRET])
    const answers = await asShop.query(`select cancel_email($1) as cancel, mark_email_failed($1, 'x') as mark`, [
      rows[0].id,
    ])
    expect(answers.rows).toEqual([{ cancel: 'NOT_FOUND', mark: 'NOT_FOUND' }])
    expect((await asShop.query('select * from process_pending_emails_for_retry(1000)')).rows).toEqual([])
  })

  test.each([
    'select from email_outbox',
    'select from email_recipients',
    'select from companies',
    'select from company_roles',
    'select from api_keys',
    'select from suppression_list',
    `insert into company_roles (role_name, company_id) select session_user, gen_random_uuid()`,
    `update email_queue set user_id = null`,
    'delete from email_queue',
    `insert into email_logs (outboxid) values (gen_random_uuid())`,
    `select put_sql_email(gen_random_uuid(), false, null, 't', 'a@b.example', '{}')`,
    'select ready_retries(null, false, 10)',
    'select cancel_waiting_email(gen_random_uuid(), null, $$x$$, true)',
    'select sql_company()',
    `select grant_sql_access(session_user::name)`,
    `select * from claim_fair_batch(gen_random_uuid(), 'work', 'x', 60, 10, 3, '{}', '{}', '{}', 100)`,
    'create table public.mine ()',
    'create function public.lower(text) returns text language sql as $$ select $1 $$',
    'create schema mine',
    'create role another',
    'alter view email_queue set (security_barrier = false)',
    'create or replace view email_queue as select 1 as id',
    'drop view email_queue',
    'truncate dead_letters',
    'begin; lock table email_ready',
  ])('may not: %s', async sql => {
    await expect(asShop.query(sql)).rejects.toMatchObject({ code: '42501' })
    await asShop.query('rollback')
  })

  test('may execute the functions that are granted to it, and no other of the gateway', async () => {
    const { rows } = await asShop.query(
      `select proname as name from pg_proc where pronamespace = 'public'::regnamespace and has_function_privilege(oid, 'execute') order by 1`,
    )
    expect(rows.map(({ name }) => name)).toEqual([
      'cancel_email',
      'enqueue_email',
      'mark_email_failed',
      'process_pending_emails_for_retry',
      'sql_companies',
    ])
  })

  test('a role that belongs to no company has no rows and enqueues nothing, even with all the grants', async () => {
    const nobody = `nobody_${shop.companyId.slice(-12)}`
    const { pool } = gateway.db
    await pool.query(`create role ${nobody} login password '${PASSWORD}'`)
    await pool.query('select grant_sql_access($1)', [nobody])
    const url = new URL(gateway.databaseUrl)
    Object.assign(url, { username: nobody, password: PASSWORD })
    const session = new pg.Client({ connectionString: url.href })
    await session.connect()
    try {
      await expect(session.query('select * from email_queue')).rejects.toThrow('belongs to no company')
      await expect(enqueueAs(session, 'a@b.example')).rejects.toThrow('belongs to no company')
    } finally {
      await session.end()
      await pool.query('select revoke_sql_access($1)', [nobody])
      await pool.query(`drop role ${nobody}`)
    }
  })
})

describe('an attacker with the role of a company', () => {
  const seen: string[] = []
  const attack = async (sql: string) => {
    const { rows } = await asShop.query(sql)
    seen.push(JSON.stringify(rows))
  }

  beforeAll(() => {
    asShop.on('notice', ({ message }) => seen.push(message ?? ''))
  })

  test('sees no row of others through a cheap function in a condition', async () => {
    await asShop.query(`create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 as
      $$ begin raise notice '%', $1; return true; end $$`)
    await attack('select id from email_queue where pg_temp.leak(recipient_email)')
    await attack('select outboxid from email_logs where pg_temp.leak("to") and pg_temp.leak(requestid)')
    await attack('select outboxid from dlq where pg_temp.leak(originaldata::text)')
    await attack('select count(*) from email_queue a join email_queue b on pg_temp.leak(b.recipient_email)')
    expect(seen.join()).toContain('maria@shop.example')
    expect(seen.join()).not.toContain('bank.example')
    expect(seen.join()).not.toContain('first.example')
  })

  test('reads none in the message of a failing cast or division', async () => {
    for (const sql of [
      'select id from email_queue where recipient_email::int = 1',
      `select 1 / (position('bank' in recipient_email) - 1) from email_queue`,
      'select outboxid from email_logs where "to"::uuid = outboxid',
    ]) {
      const message = await attack(sql).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(message).not.toContain('bank')
      expect(message).not.toContain('first')
    }
  })

  test('gains nothing by tables, functions, operators and types of its own in the search path', async () => {
    await asShop.query(`create temp table company_roles (role_name name, company_id uuid);
      create temp table companies (company_id uuid, name text, is_default boolean, created_at timestamptz, retry_policy text);
      create temp table email_ready (company_id uuid, priority smallint, outbox_id uuid);
      insert into company_roles values (session_user, '${bank.companyId}');
      create function pg_temp.sql_companies() returns uuid[] language sql as $$ select array['${bank.companyId}'::uuid] $$;
      create function pg_temp.sql_company() returns uuid language sql as $$ select '${bank.companyId}'::uuid $$;
      create function pg_temp.always(uuid, uuid) returns boolean language sql as $$ select true $$;
      create operator pg_temp.= (leftarg = uuid, rightarg = uuid, function = pg_temp.always);
      set search_path = pg_temp, public, pg_catalog`)
    await attack('select * from public.email_queue')
    await attack('select * from email_logs')
    const id = await enqueueAs(asShop, 'shadow@shop.example')
    await untilStatus(gateway, shop, id, 'SENT')
    expect((await asShop.query('select from email_ready')).rowCount).toBe(0)
    expect(seen.join()).not.toContain('bank.example')
    await asShop.query('reset search_path; drop table company_roles, companies, email_ready')
  })

  test('cannot become another role', async () => {
    const { rows } = await gateway.db.pool.query('select current_user as owner')
    for (const role of [rows[0].owner, roleNameOf(bank.companyId)]) {
      await expect(asShop.query(`set role "${role}"`)).rejects.toThrow('permission denied')
      await expect(asShop.query(`set session authorization "${role}"`)).rejects.toThrow('permission denied')
    }
  })

  test('finds no names or addresses of others in the catalogs', async () => {
    for (const sql of [
      'select * from pg_stats',
      'select rolname from pg_roles',
      'select * from pg_stat_activity',
      `select * from pg_settings where name like 'email_gateway%'`,
      'select * from information_schema.tables',
    ])
      await attack(sql)
    expect(seen.join()).not.toContain('bank.example')
    expect(seen.join()).not.toMatch(/\bbank\b/)
    await expect(asShop.query('select * from pg_statistic')).rejects.toThrow('permission denied')
  })
})

test('a session that makes others wait is found by its role', async () => {
  await asShop.query('begin')
  await asShop.query('select pg_advisory_xact_lock(4711)')
  await asBank.query('begin')
  const waiting = asBank.query('select pg_advisory_xact_lock(4711)')
  const found = await until(() => findLongestLockWait(gateway.db.pool), Boolean)
  expect(found).toMatchObject({ blockerRole: roleNameOf(shop.companyId), blockerPid: expect.any(Number) })
  await asShop.query('rollback')
  await waiting
  await asBank.query('rollback')
})

test('an idle transaction that holds an e-mail is ended, so that nobody waits for it', async () => {
  await asShop.query('begin')
  const id = await enqueueAs(asShop, 'later@shop.example')
  expect((await asShop.query('select cancel_email($1) as done', [id])).rows).toEqual([{ done: 'CANCELLED' }])
  expect((await asShop.query('show idle_in_transaction_session_timeout')).rows[0]).toEqual({
    idle_in_transaction_session_timeout: '5s',
  })
  await asShop.query('commit')
  expect((await asShop.query('show idle_in_transaction_session_timeout')).rows[0]).toEqual({
    idle_in_transaction_session_timeout: '0',
  })
})

test('a second call gives the role another password, and a revoked role ends in open sessions, too', async () => {
  const third = await gateway.company()
  const session = await sessionOf(third)
  await sessionOf(third).then(again => again.end())
  await enqueueAs(session, 'a@third.example')
  expect(await revokeSqlAccess(gateway.db.pool, roleNameOf(third.companyId), false)).toEqual({
    found: true,
    dropped: false,
  })
  await expect(session.query('select * from email_queue')).rejects.toThrow('permission denied')
  await session.end()
  const role = roleNameOf(third.companyId)
  await until(
    () => revokeSqlAccess(gateway.db.pool, role, true),
    ({ dropped }) => dropped,
  )
  expect(await revokeSqlAccess(gateway.db.pool, role, true)).toEqual({ found: false, dropped: true })
})

test('a role that owns something, and so cannot be removed, loses its login, its rights and its sessions all the same', async () => {
  const fourth = await gateway.company()
  const role = roleNameOf(fourth.companyId)
  const session = await sessionOf(fourth)
  session.on('error', () => {})
  await session.query('select lo_create(0)')
  expect(await revokeSqlAccess(gateway.db.pool, role, true)).toEqual({ found: true, dropped: false })
  await expect(session.query('select 1')).rejects.toThrow()
  const { rows } = await gateway.db.pool.query('select rolcanlogin from pg_roles where rolname = $1', [role])
  expect(rows).toEqual([{ rolcanlogin: false }])
  await gateway.db.pool.query(`drop owned by ${role}`)
})
