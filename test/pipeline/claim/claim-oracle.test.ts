import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { randomFrom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'

const MIXES = 120
const CLAIMS_PER_MIX = 3

let gateway: TestGateway
let db: pg.Client
/** Sorted; the last ones have mail, and were deleted. */
let companyIds: string[]
const DELETED = 2

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  // As the pools set it: with JIT, the claim takes so long on a stock server that the rates below move on.
  db = new pg.Client({ connectionString: gateway.databaseUrl, options: '-c enable_seqscan=off -c jit=off' })
  await db.connect()
  const made = await Promise.all(Array.from({ length: 12 }, () => gateway.company()))
  companyIds = [...made.map(one => one.companyId), ...Array.from({ length: DELETED }, uuidv7)]
  await db.query(readFileSync(new URL('../../support/claim-oracle.sql', import.meta.url), 'utf8'))
})
afterAll(async () => {
  await db?.end()
  await gateway?.stop()
})

type Random = ReturnType<typeof randomFrom>
type Limits = { size: number; perTurn: number; busy: string[]; left: number[]; most: number; used: string[] }

const some = <T>(random: Random, from: T[], oneIn: number) => from.filter(() => random(oneIn) === 0)

/** Weights, pauses, rates, and a cursor in the middle of somebody's turn. */
async function mix(random: Random): Promise<void> {
  const known = companyIds.slice(0, -DELETED)
  await db.query('delete from email_ready; delete from leases')
  await db.query(
    `update companies c set weight = s.weight, rate_per_second = s.rate, paused_at = case when s.paused then now() end,
       pause_reason = case when s.paused then 'test' end
     from unnest($1::uuid[], $2::int[], $3::float8[], $4::boolean[]) as s(id, weight, rate, paused) where c.company_id = s.id`,
    [
      known,
      known.map(() => (random(3) === 0 ? 1 + random(6) : 1)),
      known.map(() => (random(4) === 0 ? 1 + random(4) : null)),
      known.map(() => random(8) === 0),
    ],
  )
  await db.query('update fair_cursor set company_id = $1, run = $2', [
    random(5) === 0 ? '00000000-0000-0000-0000-000000000000' : companyIds[random(companyIds.length)],
    random(8),
  ])
}

async function arrive(random: Random): Promise<void> {
  const most = random(2) === 0 ? 4 : 40
  const mails = some(random, companyIds, 1 + random(3)).flatMap(companyId =>
    Array.from({ length: random(most) }, () => [companyId, random(2) === 0 ? 5 : 1 + random(10), uuidv7()]),
  )
  await db.query('insert into email_ready select * from unnest($1::uuid[], $2::smallint[], $3::uuid[])', [
    mails.map(one => one[0]),
    mails.map(one => one[1]),
    mails.map(one => one[2]),
  ])
}

function limitsOf(random: Random): Limits {
  const busy = random(2) === 0 ? [] : some(random, companyIds, 3)
  return {
    size: 1 + random(random(2) === 0 ? 12 : 120),
    perTurn: random(3) === 0 ? 1 + random(5) : 3,
    busy,
    left: busy.map(() => random(6)),
    most: random(3) === 0 ? 1 + random(10) : 1_000_000,
    used: some(random, companyIds, 2),
  }
}

const claimBy = (name: Name) => `select outbox_id, company_id from ${name}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
type Name = 'claim_oracle' | 'claim_fair_batch'

/** What it claims, and how it leaves the tables behind. */
async function claimed(name: Name, { size, perTurn, busy, left, most, used }: Limits, keep: boolean) {
  await db.query('begin')
  // Half an e-mail short of the next one that the rate allows, so that a moment more or less decides nothing.
  await db.query('delete from company_flow')
  await db.query(
    `insert into company_flow (company_id, sendable_at)
     select company_id, now() - (floor(rate_per_second / 2) + 0.5) / rate_per_second * interval '1 second'
     from companies where rate_per_second is not null and company_id = any($1)`,
    [used],
  )
  const values = [uuidv7(), 'work', 'test', 60, size, perTurn, [], busy, left, most]
  const { rows } = await db.query({ name, text: claimBy(name), values })
  const order = rows.map(row => [row.outbox_id, row.company_id])
  const { rows: after } = await db.query(`select company_id, run,
    (select count(*)::int from email_ready) as waiting, (select array_agg(outbox_ids) from leases) as leased,
    (select json_agg(json_build_array(f.company_id, round(extract(epoch from sendable_at - now()) * rate_per_second)) order by f.company_id)
     from company_flow f join companies using (company_id)) as flow
    from fair_cursor`)
  await db.query(keep ? 'commit' : 'rollback')
  return { order, after: after[0] }
}

/** On a slow machine, a rate may allow one more e-mail between the two claims: then they are compared again. */
async function compare(limits: Limits, what: string, tries = 5) {
  const expected = await claimed('claim_oracle', limits, false)
  const found = await claimed('claim_fair_batch', limits, false)
  if (!isDeepStrictEqual(found, expected) && tries > 1) return compare(limits, what, tries - 1)
  expect(found, what).toEqual(expected)
  return claimed('claim_fair_batch', limits, true)
}

test(`claims what the oracle claims, in its order, in ${MIXES} random mixes from seed ${SEED}`, async () => {
  let emails = 0
  for (let played = 0; played < MIXES; played++) {
    const random = randomFrom(SEED + played)
    await mix(random)
    for (let nth = 0; nth < CLAIMS_PER_MIX; nth++) {
      await arrive(random)
      const limits = limitsOf(random)
      const what = `seed ${SEED + played}, claim ${nth}, ${JSON.stringify(limits)}`
      const expected = await compare(limits, what)
      emails += expected.order.length
      await db.query('delete from leases')
    }
  }
  expect(emails).toBeGreaterThan(MIXES * CLAIMS_PER_MIX)
})
