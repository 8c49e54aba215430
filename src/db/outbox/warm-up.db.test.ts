import type { Socket } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { accept, draft } from '../../../test/support/line.ts'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { uuidv7 } from '../../contracts/uuid.ts'
import { type Database, inTransaction, openDatabase } from '../pool.ts'
import { rehearse } from './warm-up.ts'

const ALL = ['claims', 'emails', 'starts', 'settlements'] as const

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

test('every connection of the line is open afterwards, and has planned its statements', async () => {
  await rehearse(db.line, [...ALL])
  const planned = [
    ['claim-fair-turns'],
    ['load-emails'],
    ['start-alike', 'start-attempts'],
    ['settle-sent', 'settle-sent-alike'],
  ]
  for (const [nth, name] of ALL.entries()) {
    const pool = db.line[name]
    expect([pool.totalCount, pool.idleCount], name).toEqual([pool.options.max, pool.options.max])
    const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()))
    for (const client of clients) {
      const { rows } = await client.query(
        'select name from pg_prepared_statements where generic_plans > 0 order by name',
      )
      expect(rows, name).toEqual(planned[nth]!.map(name => ({ name })))
      client.release()
    }
  }
})

test('nothing is taken, and nothing is written', async () => {
  const companyId = uuidv7()
  await db.pool.query(`insert into companies (company_id, name) values ($1, 'of the test')`, [companyId])
  const [outboxId] = await accept(db.pool, [draft(companyId)])
  const everything = () =>
    db.pool.query(`select o.xmin, (select array_agg(r.outbox_id) from email_ready r) as ready,
      (select count(*) from leases) as leases, (select f.xmin from fair_cursor f) as cursor from email_outbox o`)
  const before = (await everything()).rows
  await rehearse(db.line, [...ALL])
  expect((await everything()).rows).toEqual(before)
  expect(before).toMatchObject([{ ready: [outboxId], leases: '0' }])
})

test('a connection that is lost in the middle does not end the process', async () => {
  const lost = openDatabase(database.url, () => {})
  const sockets: Socket[] = []
  lost.line.starts.on('connect', client =>
    sockets.push((client as unknown as { connection: { stream: Socket } }).connection.stream),
  )
  await inTransaction(db.pool, async tx => {
    await tx.query('lock table leases in access exclusive mode')
    const rehearsed = rehearse(lost.line, ['starts'])
    await vi.waitFor(async () => {
      expect((await db.pool.query('select from pg_locks where not granted')).rowCount).toBe(sockets.length)
      expect(sockets.length).toBeGreaterThan(0)
    })
    for (const socket of sockets) socket.destroy(new Error('read ECONNRESET'))
    await rehearsed
  })
  expect((await lost.line.starts.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await lost.close()
})

test('a server that is away is no failure yet', async () => {
  const away = openDatabase('postgres://nobody:x@127.0.0.1:1/none', () => {})
  await rehearse(away.line, [...ALL])
  expect(away.line.claims.totalCount).toBe(0)
  await away.close()
})
