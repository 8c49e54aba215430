import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { DatabaseUnavailable } from './errors.ts'
import { listenForNotifications } from './notifications.ts'
import { type Database, openDatabase } from './pool.ts'
import { inTransaction, type Queryable, run } from './query.ts'
import { applySettings } from './session-settings.ts'

let database: { url: string; drop(): Promise<void> }
let db: Database

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})

const pidOf = async (tx: Queryable) => (await tx.query('select pg_backend_pid() as pid')).rows[0].pid

test('a connection lost between two statements of a transaction fails it, and not the process', async () => {
  const lost = inTransaction(db.pool, async tx => {
    await db.short.query('select pg_terminate_backend($1)', [await pidOf(tx)])
    await sleep(200)
    return pidOf(tx)
  })
  await expect(lost).rejects.toBeInstanceOf(DatabaseUnavailable)
  expect(await inTransaction(db.pool, pidOf)).toBeGreaterThan(0)
})

test('a transaction that fails has done nothing, and one that does not leaves its connection as it was', async () => {
  await expect(
    inTransaction(db.pool, async tx => {
      await tx.query(`insert into counters (name, label, value) values ('a', 'b', 1)`)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect((await db.pool.query(`select from counters where name = 'a'`)).rows).toEqual([])
  for (let times = 0; times < 20; times++) await inTransaction(db.pool, pidOf)
  const client = await db.pool.connect()
  expect(client.listenerCount('error')).toBeLessThan(3)
  client.release()
})

test('the pools open as many connections at most as docs/sending.md says', () => {
  const pools = [db.pool, db.short, db.webhooks, ...Object.values(db.sending)]
  const most = pools.reduce((sum, pool) => sum + pool.options.max, 0)
  const said = readFileSync(new URL('../../../docs/sending.md', import.meta.url), 'utf8')
  expect(said).toContain(`(${most} in its pools and one that listens)`)
})

test('every connection of the pools is without JIT, and the server ends a statement before the client stops waiting for it', async () => {
  const settings = `select current_setting('jit') as jit, current_setting('plan_cache_mode') as plans, current_setting('enable_seqscan') as scans,
    current_setting('enable_hashjoin') as hashes, extract(epoch from current_setting('statement_timeout')::interval)::float8 as seconds`
  const of = async (pool: pg.Pool) => (await pool.query(settings)).rows[0]
  expect(await of(db.pool)).toEqual({ jit: 'off', plans: 'auto', scans: 'on', hashes: 'on', seconds: 54 })
  const forced = { jit: 'off', plans: 'force_generic_plan', scans: 'off', seconds: 27 }
  for (const pool of [db.short, ...Object.values(db.sending)])
    expect(await of(pool)).toEqual({ ...forced, hashes: 'on' })
  expect(await of(db.webhooks)).toEqual({ ...forced, hashes: 'off' })
})

test('what the role or the database has as default changes nothing that the program relies on', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const defaults = {
    extra_float_digits: '-15',
    datestyle: 'SQL, DMY',
    intervalstyle: 'iso_8601',
    bytea_output: 'escape',
    default_transaction_isolation: 'serializable',
  }
  for (const [setting, value] of Object.entries(defaults))
    await db.pool.query(`alter database "${name}" set ${setting} = '${value}'`)
  const other = openDatabase(database.url, () => {})
  try {
    const { rows } = await other.short.query(
      `select (1::float8 / 3)::text as third, '2026-11-17'::date::text as day, '1 day 2 hours'::interval::text as time,
         '\\x00ff'::bytea::text as bytes, current_setting('transaction_isolation') as isolation`,
    )
    expect(rows).toEqual([
      {
        third: '0.3333333333333333',
        day: '2026-11-17',
        time: '1 day 02:00:00',
        bytes: '\\x00ff',
        isolation: 'read committed',
      },
    ])
  } finally {
    await other.close()
    await db.pool.query(`alter database "${name}" reset all`)
  }
})

test('the connection that listens is without JIT and limited, too', async () => {
  let isListening = () => {}
  const listening = new Promise<void>(resolve => {
    isListening = resolve
  })
  const asked = vi.spyOn(pg.Client.prototype, 'query')
  const stop = listenForNotifications(
    database.url,
    'me',
    { email_ready: isListening, webhook_ready: () => {} },
    () => {},
  )
  try {
    await listening
    const client = asked.mock.contexts[0] as pg.Client
    const { rows } = await client.query(
      `select current_setting('jit') as jit, current_setting('statement_timeout') as most`,
    )
    expect(rows).toEqual([{ jit: 'off', most: '4500ms' }])
  } finally {
    asked.mockRestore()
    await stop()
  }
})

test('a statement that takes too long is ended on the server, and the database counts as unavailable', async () => {
  const impatient = openDatabase(database.url, () => {}, { short: 500, pool: 500 })
  try {
    await expect(run(impatient.short, 'slow', 'select pg_sleep(60)', [])).rejects.toBeInstanceOf(DatabaseUnavailable)
    // On a busy machine the client gives up a moment before the server does; without a limit it would sleep for a minute.
    const stillRunning = () =>
      db.pool.query(
        `select query from pg_stat_activity where datname = current_database() and state = 'active' and query like 'select pg_sleep%'`,
      )
    await vi.waitFor(async () => expect((await stillRunning()).rows).toEqual([]), 20_000)
  } finally {
    await impatient.close()
  }
})

test('no connection needs start-up options, which connection poolers refuse', () => {
  for (const pool of [db.pool, db.short, db.webhooks, ...Object.values(db.sending)])
    expect(pool.options.options).toBeUndefined()
})

test('a connection whose settings are refused is not used', async () => {
  const pool = new pg.Pool({
    connectionString: database.url,
    onConnect: client => applySettings(client, { no_such_setting_here: '1' }),
  })
  await expect(pool.query('select 1')).rejects.toThrow('no_such_setting_here')
  expect(pool.totalCount).toBe(0)
  await pool.end()
})
