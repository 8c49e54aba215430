import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/postgres.ts'
import { hasDiskSpace } from './disk-space.ts'
import { type Database, openDatabase } from './pool.ts'
import type { Queryable } from './query.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Database
beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})

test('a temporary file is really written, and the next statement has its usual memory again', async () => {
  const before = await temporaryFiles()
  const client = await db.pool.connect()
  try {
    const memory = () => client.query('show work_mem').then(({ rows }) => rows[0].work_mem)
    const usual = await memory()
    expect(await hasDiskSpace(client)).toBe(true)
    expect(await memory()).toBe(usual)
    await client.query('select pg_stat_force_next_flush()').catch(() => {})
  } finally {
    client.release(true)
  }
  await expect.poll(temporaryFiles, { timeout: 10_000 }).toBeGreaterThan(before)
})

test('a server that cannot write it has no room; one that may not write it says nothing about room', async () => {
  const refusing = (code: string) =>
    ({ query: () => Promise.reject(Object.assign(new Error('refused'), { code })) }) as unknown as Queryable
  expect(await hasDiskSpace(refusing('53100'))).toBe(false)
  expect(await hasDiskSpace(refusing('53400'))).toBe(true)
  await expect(hasDiskSpace(refusing('57P01'))).rejects.toThrow('refused')
})

async function temporaryFiles(): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>(
    'select temp_files::int as count from pg_stat_database where datname = current_database()',
  )
  return rows[0]!.count
}
