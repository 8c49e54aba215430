import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { updateCompany } from '../../../src/companies/companies.ts'
import { loadEmailsToSend } from '../../../src/outbox/load.ts'
import { cancelEmail } from '../../../src/outbox/schedule.ts'
import { LOCK_EXISTING_READY_ROW } from '../../../src/outbox/sql.ts'
import { inTransaction, type Queryable } from '../../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { accept, claim, draft, EMPTY_OUTBOX, forgotten, start } from '../../support/outbox.ts'
import { rowsRead } from '../../support/rows-read.ts'

let gateway: TestGateway
let db: Queryable

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
})
afterAll(() => gateway?.stop())
beforeEach(async () => {
  await db.query(EMPTY_OUTBOX)
})

async function companies(count: number): Promise<string[]> {
  const made = await Promise.all(Array.from({ length: count }, () => gateway.company()))
  return made.map(one => one.companyId).sort()
}

test('a company that was deleted with mail ready does not stop those behind it', async () => {
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
  await db.query('analyze email_outbox, email_content, email_recipients, email_attachments')
  const read = await rowsRead(gateway.db.short, '^email_', async client => {
    expect((await loadEmailsToSend(client, [ids[0]!, ids.at(-1)!])).size).toBe(2)
  })
  expect(read).toBeLessThan(20)
})

test('a claim reads the companies that it serves, however many have no mail', async () => {
  await db.query('truncate companies cascade')
  const ids = await companies(120)
  await accept(
    db,
    ids.slice(0, 30).flatMap(id => Array.from({ length: 12 }, () => draft(id))),
  )
  const read = await rowsRead(gateway.db.short, '^companies$', async client => {
    expect((await claim(client, 30)).claimed).toHaveLength(30)
  })
  expect(read).toBeLessThan(30)
})

test('a claim reads what it takes and no more of the backlog, also when it was planned while nothing was ready', async () => {
  const [companyId] = await companies(1)
  await db.query('vacuum analyze email_ready')
  const read = await rowsRead(gateway.db.short, '^email_ready$', async client => {
    // Postgres keeps the plan of a statement from its sixth execution on.
    for (let i = 0; i < 6; i++) expect((await claim(client, 10)).claimed).toEqual([])
    await accept(
      client,
      Array.from({ length: 1000 }, () => draft(companyId!)),
    )
    for (let i = 0; i < 10; i++) expect((await claim(client, 10)).claimed).toHaveLength(10)
  })
  expect(read).toBeLessThan(500)
})

test('a claim that finds nothing writes nothing', async () => {
  const wrote = await inTransaction(gateway.db.short, async tx => {
    expect((await claim(tx, 100)).claimed).toEqual([])
    return (await tx.query('select pg_current_xact_id_if_assigned() is not null as wrote')).rows[0].wrote
  })
  expect(wrote).toBe(false)
})

/** What a claim takes that comes in the middle of somebody else's transaction, and waits for its end. */
async function claimDuring(act: (tx: Queryable) => Promise<unknown>) {
  let claiming: ReturnType<typeof claim> | undefined
  await inTransaction(gateway.db.pool, async tx => {
    await act(tx)
    claiming = claim(db, 100)
    await vi.waitFor(async () => {
      const { rowCount } = await gateway.db.pool.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      )
      expect(rowCount).toBe(1)
    })
  })
  return claiming!
}

test('a row that becomes ready again in the middle of a claim is waited for, and the e-mail is claimed once', async () => {
  const [companyId] = await companies(1)
  const ids = await accept(
    db,
    Array.from({ length: 5 }, () => draft(companyId!)),
  )
  const first = await claimDuring(tx =>
    tx.query(
      `insert into email_ready (company_id, priority, outbox_id) values ($1, 5, $2) ${LOCK_EXISTING_READY_ROW}`,
      [companyId, ids[2]],
    ),
  )
  const second = await claim(db, 100)
  const order = [...first.claimed, ...second.claimed].map(one => one.outboxId)
  expect(order.toSorted(), 'each once').toEqual(ids)
  expect(order.filter(id => id !== ids[2])).toEqual(ids.filter(id => id !== ids[2]))
  expect(await forgotten(db)).toEqual([])
})

test('an e-mail that is cancelled in the middle of a claim is not started, and the others are', async () => {
  const [companyId] = await companies(1)
  const ids = await accept(
    db,
    Array.from({ length: 5 }, () => draft(companyId!)),
  )
  const lease = await claimDuring(tx => cancelEmail(tx, ids[2]!, companyId!, 'test'))
  expect((await start(db, lease)).toSorted()).toEqual(ids.filter(id => id !== ids[2]))
})
