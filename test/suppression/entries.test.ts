import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { insertCompany } from '../../src/companies/companies.ts'
import { type Database, openDatabase } from '../../src/platform/postgres/pool.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { addSuppressions, type SuppressionEntry } from '../../src/suppression/list.ts'
import { SUPPRESSION_REASONS, SUPPRESSION_SEVERITY, type SuppressionReason } from '../../src/suppression/rules.ts'
import { createTestDatabase } from '../support/postgres.ts'

const HASH = hashEmail('maria@example.com')
const DAYS: Record<SuppressionReason, number> = { MANUAL: 365, HARD_BOUNCE: 90, COMPLAINT: 0 }

let database: Awaited<ReturnType<typeof createTestDatabase>>
let db: Database
const [ONE, TWO] = [uuidv7(), uuidv7()]

beforeAll(async () => {
  database = await createTestDatabase()
  db = openDatabase(database.url, () => {})
  await insertCompany(db.pool, { companyId: ONE, name: 'one' })
  await insertCompany(db.pool, { companyId: TWO, name: 'two' })
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
})
beforeEach(() => db.pool.query('truncate suppression_list, suppression_audit_log, suppression_daily'))

const entry = (change: Partial<SuppressionEntry> = {}): SuppressionEntry => {
  const reason = change.reason ?? 'HARD_BOUNCE'
  return {
    companyId: null,
    emailHash: HASH,
    reason,
    expiresInDays: DAYS[reason],
    metadata: {},
    performedBy: 'system',
    ...change,
  }
}
const add = async (...changes: Partial<SuppressionEntry>[]) =>
  (await addSuppressions(db.pool, changes.map(entry))).map(({ outcome }) => outcome)

type Listed = { reason: SuppressionReason; days: number | null; metadata: object; company_id: string | null }
const listed = async (): Promise<Listed[]> =>
  (
    await db.pool.query(
      `select reason, round(extract(epoch from expires_at - now()) / 86400)::int as days, metadata, company_id
       from suppression_list order by email_hash, company_id nulls first`,
    )
  ).rows
const audit = async () =>
  (
    await db.pool.query(
      `select action, reason, performed_by as by, metadata - 'expiresAt' as metadata from suppression_audit_log order by id`,
    )
  ).rows
const daily = async (): Promise<Record<string, number[]>> =>
  Object.fromEntries(
    (await db.pool.query('select reason, added, raised, removed, expired from suppression_daily')).rows.map(row => [
      row.reason,
      [row.added, row.raised, row.removed, row.expired].map(Number),
    ]),
  )
const expire = () => db.pool.query(`update suppression_list set expires_at = now() - interval '1 second'`)

describe('one entry', () => {
  test.each([
    ['HARD_BOUNCE', 90],
    ['MANUAL', 365],
    ['COMPLAINT', null],
  ] as const)('%s lasts %s days, and is audited and counted with the same statement', async (reason, days) => {
    const metadata = { bounceType: 'Permanent' }
    expect(await add({ reason, metadata, justification: 'asked by phone' })).toEqual(['added'])
    expect(await listed()).toEqual([{ reason, days, metadata, company_id: null }])
    expect(await audit()).toEqual([
      { action: 'ADDED', reason, by: 'system', metadata: { ...metadata, justification: 'asked by phone' } },
    ])
    expect(await daily()).toEqual({ [reason]: [1, 0, 0, 0] })
  })

  test('a given end counts instead of the days, and one that is over adds nothing', async () => {
    const inTen = new Date(Date.now() + 10 * 86_400_000).toISOString()
    expect(
      await add({ expiresAt: inTen }, { emailHash: hashEmail('b@b.bb'), expiresAt: '2020-01-01T00:00:00Z' }),
    ).toEqual(['added', 'unchanged'])
    expect((await listed()).map(one => one.days)).toEqual([10])
    expect(await audit()).toHaveLength(1)
  })

  test('what others say is kept without the addresses and documents it quotes', async () => {
    await add({
      metadata: { diagnosticCode: 'smtp; 550 5.1.1 <maria@example.com> unknown\0', list: ['to 529.982.247-25'] },
      justification: 'maria@example.com asked, CPF 529.982.247-25',
    })
    const { rows } = await db.pool.query(
      `select s::text || a::text as all from suppression_list s, suppression_audit_log a`,
    )
    expect(rows[0].all).toContain('550 5.1.1 <m***@e***.com> unknown')
    expect(rows[0].all).toContain('m***@e***.com asked, CPF ***.***.***-25')
    expect(rows[0].all).not.toMatch(/maria@|529\.982\.247/)
  })
})

describe('the same address again', () => {
  test('a bounce after a complaint changes nothing', async () => {
    await add({ reason: 'COMPLAINT' })
    expect(await add({ reason: 'HARD_BOUNCE' })).toEqual(['unchanged'])
    expect(await listed()).toMatchObject([{ reason: 'COMPLAINT', days: null }])
    expect(await audit()).toHaveLength(1)
    expect(await daily()).toEqual({ COMPLAINT: [1, 0, 0, 0] })
  })

  test('a complaint after a bounce raises it, for ever, and keeps what was known', async () => {
    await add({ metadata: { bounceType: 'Permanent' } })
    expect(await add({ reason: 'COMPLAINT', metadata: { feedbackType: 'abuse' } })).toEqual(['raised'])
    expect(await listed()).toMatchObject([
      { reason: 'COMPLAINT', days: null, metadata: { bounceType: 'Permanent', feedbackType: 'abuse' } },
    ])
    expect((await audit())[1].metadata).toMatchObject({ previousReason: 'HARD_BOUNCE' })
    expect(await daily()).toEqual({ HARD_BOUNCE: [1, 0, 0, 0], COMPLAINT: [0, 1, 0, 0] })
  })

  test('a bounce of 90 days does not shorten a year', async () => {
    await add({ reason: 'MANUAL' })
    expect(await add({ reason: 'HARD_BOUNCE' })).toEqual(['raised'])
    expect(await listed()).toMatchObject([{ reason: 'HARD_BOUNCE', days: 365 }])
  })

  test('a repeat prolongs by days, never by minutes', async () => {
    await add({})
    expect(await add({})).toEqual(['unchanged'])
    await db.pool.query(`update suppression_list set expires_at = expires_at - interval '30 days'`)
    expect(await add({})).toEqual(['raised'])
    expect(await listed()).toMatchObject([{ reason: 'HARD_BOUNCE', days: 90 }])
    expect(await add({ expiresInDays: 7 })).toEqual(['unchanged'])
    expect(await daily()).toEqual({ HARD_BOUNCE: [1, 0, 0, 0] })
  })

  test('an expired one is a new entry, whatever its reason was, and its end is in the audit', async () => {
    await add({ reason: 'COMPLAINT', expiresInDays: 30, metadata: { old: true } })
    const before = (await db.pool.query('select id from suppression_list')).rows[0].id
    await expire()
    expect(await add({ reason: 'MANUAL' })).toEqual(['added'])
    expect(await listed()).toMatchObject([{ reason: 'MANUAL', days: 365, metadata: {} }])
    expect((await db.pool.query('select id from suppression_list')).rows[0].id).not.toBe(before)
    expect((await audit()).map(one => [one.action, one.reason])).toEqual([
      ['ADDED', 'COMPLAINT'],
      ['EXPIRED', 'COMPLAINT'],
      ['ADDED', 'MANUAL'],
    ])
    expect(await daily()).toEqual({ COMPLAINT: [1, 0, 0, 1], MANUAL: [1, 0, 0, 0] })
  })
})

describe('several at once', () => {
  test('named twice in one call, the graver and the later count', async () => {
    expect(await add({}, { reason: 'COMPLAINT', expiresInDays: 5 }, { reason: 'MANUAL' })).toEqual([
      'unchanged',
      'added',
      'unchanged',
    ])
    expect(await listed()).toMatchObject([{ reason: 'COMPLAINT', days: 365 }])
    expect(await audit()).toHaveLength(1)
  })

  test('the lists of two companies and the global one are apart', async () => {
    await add({ companyId: ONE }, { companyId: TWO, reason: 'COMPLAINT' }, { reason: 'MANUAL' })
    expect((await listed()).map(one => [one.company_id, one.reason])).toEqual(
      [
        [null, 'MANUAL'],
        [ONE, 'HARD_BOUNCE'],
        [TWO, 'COMPLAINT'],
      ].toSorted((a, b) => String(a[0] ?? '').localeCompare(String(b[0] ?? ''))),
    )
  })

  test('two processes that add the same addresses in opposite orders both finish, and each address is there once', async () => {
    const hashes = Array.from({ length: 200 }, (_, n) => hashEmail(`r${n}@example.com`))
    let changes = 0
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.all(
        (['HARD_BOUNCE', 'COMPLAINT', 'MANUAL', 'COMPLAINT'] as const).map((reason, n) =>
          add(...(n % 2 ? hashes.toReversed() : hashes).map(emailHash => ({ emailHash, reason }))),
        ),
      )
      changes += outcomes.flat().filter(one => one !== 'unchanged').length
      if (round === 0) expect(outcomes.flat().filter(one => one === 'added')).toHaveLength(200)
    }
    const entries = await listed()
    expect(entries).toHaveLength(200)
    expect(entries.every(one => one.reason === 'COMPLAINT' && one.days === null)).toBe(true)
    expect(Object.values(await daily()).reduce((sum, [added]) => sum + added!, 0)).toBe(200)
    expect(await audit()).toHaveLength(changes)
  })

  test('whatever comes in whatever order: the gravest reason and the latest end are what is left', async () => {
    const additions = fc.array(
      fc.record({ reason: fc.constantFrom(...SUPPRESSION_REASONS), expiresInDays: fc.constantFrom(0, 10, 90, 365) }),
      { minLength: 1, maxLength: 5 },
    )
    await fc.assert(
      fc.asyncProperty(additions, async changes => {
        await db.pool.query('truncate suppression_list')
        for (const change of changes) await add(change)
        const gravest = Math.max(...changes.map(one => SUPPRESSION_SEVERITY[one.reason]))
        const latest = Math.max(...changes.map(one => one.expiresInDays || Number.POSITIVE_INFINITY))
        const [left] = await listed()
        expect(SUPPRESSION_SEVERITY[left!.reason]).toBe(gravest)
        expect(left!.days ?? Number.POSITIVE_INFINITY).toBe(latest)
      }),
      { numRuns: 40 },
    )
  })
})
