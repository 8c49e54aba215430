import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany, updateCompany } from '../../../src/companies/companies.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { accept, claim, claimedInOrder, draft, numberLeases } from '../../support/outbox.ts'

const PER_TURN = 3

let gateway: TestGateway
let db: Queryable
let companyIds: string[]

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
  const companies = []
  for (let made = 0; made < 8; made++) companies.push(await gateway.company())
  companyIds = companies.map(one => one.companyId).toSorted()
  await numberLeases(db)
})
afterAll(() => gateway?.stop())

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

async function clear(): Promise<void> {
  await db.query('truncate email_ready, leases')
  await db.query(`update fair_cursor set company_id = '00000000-0000-0000-0000-000000000000', run = 0`)
}

async function setUp(company: number, weight: number, paused: boolean): Promise<void> {
  await updateCompany(db, companyIds[company]!, { weight })
  if (paused) await pauseCompany(db, companyIds[company]!, 'test')
  else await resumeCompany(db, companyIds[company]!)
}

describe('the cursor', () => {
  const order = async (size: number) =>
    (await claim(db, size, PER_TURN)).claimed.map(one => companyIds.indexOf(one.companyId))

  async function backlog(...counts: number[]): Promise<void> {
    await clear()
    for (const [company, count] of counts.entries()) {
      await setUp(company, 1, false)
      await accept(
        db,
        many(count, () => draft(companyIds[company]!)),
      )
    }
  }

  test('goes round: claims of three serve one company after the other', async () => {
    await backlog(6, 6, 6)
    const turns = []
    for (let turn = 0; turn < 6; turn++) turns.push(await order(3))
    expect(turns).toEqual([0, 1, 2, 0, 1, 2].map(company => [company, company, company]))
  })

  test('a turn goes on in the next claim, and ends there: claims of one give the same order as a large one', async () => {
    await backlog(6, 6, 6)
    const turns = []
    for (let turn = 0; turn < 18; turn++) turns.push(...(await order(1)))
    expect(turns).toEqual([0, 1, 2, 0, 1, 2].flatMap(company => [company, company, company]))
  })

  test('claims of two and of five cut turns in the middle, and nobody has more or less for it', async () => {
    for (const size of [2, 5]) {
      await backlog(12, 12, 12)
      const served: number[] = []
      while (served.length < 36) served.push(...(await order(size)))
      expect(served, `claims of ${size}`).toEqual(many(4, () => [0, 0, 0, 1, 1, 1, 2, 2, 2]).flat())
    }
  })

  test('a company that was alone has had its turn when another comes', async () => {
    await backlog(20, 0)
    expect(await order(7)).toEqual(many(7, () => 0))
    await accept(
      db,
      many(5, () => draft(companyIds[1]!)),
    )
    expect(await order(6)).toEqual([1, 1, 1, 0, 0, 0])
  })

  test('a large claim is interleaved in threes, and the next one starts with another company', async () => {
    await backlog(20, 20, 20)
    const first = await order(12)
    expect(first.slice(0, 9)).toEqual([0, 0, 0, 1, 1, 1, 2, 2, 2])
    expect((await order(3))[0]).not.toBe(first.at(-1))
  })

  test('a heavier company has a longer turn, in proportion', async () => {
    await backlog(40, 40)
    await setUp(0, 3, false)
    expect(await order(12)).toEqual([...many(9, () => 0), ...many(3, () => 1)])
  })

  test('a company that was served last is served after the others', async () => {
    await backlog(9, 9, 9, 9)
    const first = await order(6)
    const last = first.at(-1)!
    const next = await order(12)
    const others = new Set([0, 1, 2, 3].filter(company => company !== last))
    for (const company of next.slice(0, next.indexOf(last))) others.delete(company)
    expect([...others], `first ${first.join(' ')}, then ${next.join(' ')}`).toEqual([])
  })

  test('a newcomer is served in the very next round, however long the others’ backlog', async () => {
    await backlog(50, 50, 0)
    await order(10)
    await accept(db, [draft(companyIds[2]!)])
    expect(await order(9)).toContain(2)
  })

  test('a paused company is passed over, and does not hold up the round', async () => {
    await backlog(5, 5, 5)
    await setUp(1, 1, true)
    expect(new Set(await order(20))).toEqual(new Set([0, 2]))
    expect(await order(20)).toEqual([])
    await setUp(1, 1, false)
    expect(await order(20)).toEqual([1, 1, 1, 1, 1])
  })
})

describe('several claimers at once', () => {
  test('never claim the same e-mail and lose none', async () => {
    for (let round = 0; round < 8; round++) {
      await clear()
      for (let company = 0; company < 5; company++) await setUp(company, 1 + (company % 3), false)
      const ids = await accept(
        db,
        many(400, index => draft(companyIds[(index * index) % 5]!, { priority: 1 + (index % 10) })),
      )
      const claimers = many(4, async which => {
        const own: string[] = []
        for (let empty = 0; empty < 5; ) {
          const { claimed } = await claim(db, 5 + which * 3, PER_TURN)
          own.push(...claimed.map(one => one.outboxId))
          empty = claimed.length === 0 ? empty + 1 : 0
        }
        return own
      })
      const claimed = (await Promise.all(claimers)).flat()
      expect(claimed.toSorted()).toEqual(ids.toSorted())
      expect((await claimedInOrder(db)).toSorted(), 'each is under one lease').toEqual(ids.toSorted())
    }
  })

  test('do not come back with nothing while there is plenty', async () => {
    await clear()
    for (let company = 0; company < 4; company++) await setUp(company, 1, false)
    await accept(
      db,
      many(400, index => draft(companyIds[index % 4]!)),
    )
    const sizes: number[] = []
    for (let round = 0; round < 8; round++)
      sizes.push(...(await Promise.all(many(4, () => claim(db, 10, PER_TURN)))).map(one => one.claimed.length))
    expect(
      sizes.filter(size => size === 0),
      `sizes ${sizes.join(' ')}`,
    ).toEqual([])
  })

  test('are fair together: the order of their leases is a fair order', async () => {
    await clear()
    for (let company = 0; company < 4; company++) await setUp(company, 1, false)
    const ids = await accept(
      db,
      many(200, index => draft(companyIds[index % 4]!)),
    )
    const of = new Map(ids.map((id, index) => [id, index % 4]))
    while ((await Promise.all(many(4, which => claim(db, 4 + which, PER_TURN)))).some(one => one.claimed.length > 0));
    const order = (await claimedInOrder(db)).map(id => of.get(id)!)
    expect(order).toHaveLength(200)
    expect(turnsOf(order).slice(0, -4), 'turns of three, whoever claims').toEqual(many(64, place => [place % 4, 3]))
  })
})

/** Companies in the order they are served, with the length of their turn. */
function turnsOf(order: number[]): [company: number, length: number][] {
  const turns: [number, number][] = []
  for (const company of order) {
    const last = turns.at(-1)
    if (last?.[0] === company) last[1]++
    else turns.push([company, 1])
  }
  return turns
}
