import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { updateCompany } from '../src/db/companies.ts'
import type { Queryable } from '../src/db/pool.ts'
import { loadTickets } from '../src/db/tickets.ts'
import { startTestGateway, type TestGateway } from './support/gateway.ts'
import { accept, CLEAN_LINE, claim, draft } from './support/line.ts'
import { rowsRead } from './support/rows-read.ts'

let gateway: TestGateway
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.hot
})
afterAll(() => gateway?.stop())
beforeEach(async () => {
  await db.query(CLEAN_LINE)
})

async function companies(count: number): Promise<string[]> {
  const made = await Promise.all(Array.from({ length: count }, () => gateway.company()))
  return made.map(one => one.companyId).sort()
}

test('a company that was deleted with mail in line does not stop those behind it', async () => {
  const ids = await companies(3)
  const [before, deleted, behind] = ids as [string, string, string]
  await accept(
    db,
    ids.map(id => draft(id)),
  )
  await db.query('delete from api_keys where company_id = $1', [deleted])
  await db.query('delete from companies where company_id = $1', [deleted])
  await db.query('update fair_cursor set company_id = $1, run = 3', [before])
  const { claimed } = await claim(db, 100)
  expect(claimed.map(one => one.companyId)).toEqual([behind, before])
})

test('a rate that the claim could not count with is refused where it is written', async () => {
  const [companyId] = await companies(1)
  for (const ratePerSecond of [1e12, 1e-12, 1e-300, Number.NaN])
    await expect(updateCompany(db, companyId!, { ratePerSecond })).rejects.toThrow('rate_can_be_counted')
})

test('a company with a rate goes on at once when the clock of the database is set back by an hour', async () => {
  const [companyId] = await companies(1)
  await updateCompany(db, companyId!, { ratePerSecond: 10 })
  await accept(
    db,
    Array.from({ length: 30 }, () => draft(companyId!)),
  )
  expect((await claim(db, 100)).claimed).toHaveLength(10)
  await db.query(`update company_flow set sendable_at = now() + interval '1 hour'`)
  expect((await claim(db, 100)).claimed, 'a second of its rate').toHaveLength(10)
  expect((await claim(db, 100)).claimed).toEqual([])
})

test('an old and a new e-mail are read together without what lies between them', async () => {
  const [companyId] = await companies(1)
  const ids = await accept(
    db,
    Array.from({ length: 1000 }, () => draft(companyId!)),
  )
  await db.query('analyze email_outbox, email_content, email_recipient_list, email_attachments')
  const read = await rowsRead(gateway.db.hot, '^email_', async client => {
    expect((await loadTickets(client, [ids[0]!, ids.at(-1)!])).size).toBe(2)
  })
  expect(read).toBeLessThan(20)
})
