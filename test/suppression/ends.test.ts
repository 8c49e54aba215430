import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { addSuppressions, expireSuppressions, removeSuppression } from '../../src/suppression/list.ts'
import { listAudit } from '../../src/suppression/reads.ts'
import type { SuppressionReason } from '../../src/suppression/rules.ts'
import { createTestDatabase } from '../support/postgres.ts'

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
beforeEach(() => db.pool.query('truncate suppression_list, suppression_audit_log, suppression_daily'))

const hashes = (count: number) => Array.from({ length: count }, (_, n) => hashEmail(`r${n}@example.com`))
const add = (emailHashes: string[], reason: SuppressionReason = 'HARD_BOUNCE', expiresInDays = 90) =>
  addSuppressions(
    db.pool,
    emailHashes.map(emailHash => ({
      companyId: null,
      emailHash,
      reason,
      expiresInDays,
      metadata: {},
      performedBy: 'system',
    })),
  )
const remove = (emailHash: string) =>
  removeSuppression(db.pool, { emailHash, lists: [null], performedBy: 'ana', justification: 'mended' })
const one = async (sql: string) => (await db.pool.query(sql)).rows[0]
const endAll = (where = 'true') =>
  db.pool.query(`update suppression_list set expires_at = now() - interval '1 second' where ${where}`)

describe('expiry', () => {
  test('takes what is over off the list, and says so in the audit, in the same statement', async () => {
    const [over, other, forEver] = hashes(3)
    await add([over!, other!])
    await add([forEver!], 'COMPLAINT', 0)
    await endAll(`email_hash = '${over}'`)
    expect(await expireSuppressions(db.short)).toBe(1)
    const { rows } = await db.pool.query('select email_hash from suppression_list')
    expect(rows.map(row => row.email_hash).toSorted()).toEqual([other, forEver].toSorted())
    expect((await listAudit(db.pool, over!, null)).map(({ performedAt: _, ...entry }) => entry)).toEqual([
      { action: 'ADDED', performedBy: 'system', reason: 'HARD_BOUNCE' },
      { action: 'EXPIRED', performedBy: 'system', reason: 'HARD_BOUNCE' },
    ])
    expect(await one(`select expired::int, removed::int from suppression_daily where reason = 'HARD_BOUNCE'`)).toEqual({
      expired: 1,
      removed: 0,
    })
  })

  test('several processes share the work, in bites, and nothing is audited twice', async () => {
    await add(hashes(1000))
    await endAll()
    const counts = await Promise.all([1, 2, 3, 4].map(() => expireSuppressions(db.short, 50)))
    expect(counts.reduce((sum, count) => sum + count)).toBe(1000)
    expect(await one('select count(*)::int from suppression_list')).toEqual({ count: 0 })
    expect(
      await one(
        `select count(*)::int, count(distinct email_hash)::int as hashes from suppression_audit_log where action = 'EXPIRED'`,
      ),
    ).toEqual({ count: 1000, hashes: 1000 })
  })

  test('what is prolonged at the same moment stays', async () => {
    const [hash] = hashes(1)
    await add([hash!])
    await endAll()
    const client = await db.pool.connect()
    await client.query('begin')
    await client.query(`update suppression_list set expires_at = now() + interval '9 days'`)
    expect(await expireSuppressions(db.short)).toBe(0)
    await client.query('commit')
    client.release()
    expect(await expireSuppressions(db.short)).toBe(0)
    expect(await one('select count(*)::int from suppression_list')).toEqual({ count: 1 })
  })
})

describe('removal', () => {
  test('of an entry: gone, audited with the reason it had, who and why', async () => {
    const [hash] = hashes(1)
    await add([hash!])
    expect(await remove(hash!)).toMatchObject({ kind: 'removed' })
    expect((await listAudit(db.pool, hash!, null))[1]).toMatchObject({
      action: 'REMOVED',
      performedBy: 'ana',
      reason: 'HARD_BOUNCE',
      justification: 'mended',
    })
    expect(await remove(hash!)).toEqual({ kind: 'not-listed' })
  })

  test('of a complaint is refused, and of an expired entry there is nothing left to remove', async () => {
    const [complaint, over] = hashes(2)
    await add([complaint!], 'COMPLAINT', 0)
    await add([over!])
    await endAll(`email_hash = '${over}'`)
    expect(await remove(complaint!)).toEqual({ kind: 'complaint' })
    expect(await remove(over!)).toEqual({ kind: 'not-listed' })
    expect(await one(`select count(*)::int from suppression_audit_log where action = 'REMOVED'`)).toEqual({ count: 0 })
  })

  test('that waits for a complaint to be written finds a complaint', async () => {
    const [hash] = hashes(1)
    await add([hash!])
    const client = await db.pool.connect()
    await client.query('begin')
    await addSuppressions(client, [
      { companyId: null, emailHash: hash!, reason: 'COMPLAINT', expiresInDays: 0, metadata: {}, performedBy: 'system' },
    ])
    const removal = remove(hash!)
    await waitForLock()
    await client.query('commit')
    client.release()
    expect(await removal).toEqual({ kind: 'complaint' })
    expect(await one('select reason from suppression_list')).toEqual({ reason: 'COMPLAINT' })
  })
})

async function waitForLock(): Promise<void> {
  for (;;) {
    const { rows } = await db.short.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    if (rows.length > 0) return
  }
}
