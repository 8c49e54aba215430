import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pauseCompany, resumeCompany, updateCompany } from '../../../src/companies/companies.ts'
import type { Queryable } from '../../../src/platform/postgres/query.ts'
import { uuidv7 } from '../../../src/platform/text/uuid.ts'
import { startTestGateway, type TestGateway } from '../../support/gateway.ts'
import { claim, numberLeases } from '../../support/outbox.ts'
import { randomFrom } from '../../support/random.ts'
import { SEED } from '../../support/seed.ts'

const PER_TURN = 3
const MIXES = 200
const ROUNDS_WITH_ARRIVALS = 4

let gateway: TestGateway
let db: Queryable
let companyIds: string[]

beforeAll(async () => {
  gateway = await startTestGateway({ role: 'api' })
  db = gateway.db.short
  const companies = []
  for (let made = 0; made < 12; made++) companies.push(await gateway.company())
  companyIds = companies.map(one => one.companyId).toSorted()
  await numberLeases(db)
})
afterAll(() => gateway?.stop())

const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))

type Random = ReturnType<typeof randomFrom>

type Mail = { id: string; company: number; priority: number }
/** Arrivals came before the claim; caps: how many of a company it may take, for those that have one. */
type Claim = { arrivals: Mail[]; caps: Map<number, number>; served: Mail[] }
type Mix = { seed: number; weights: number[]; paused: boolean[]; claims: Claim[]; left: number }

/** Sorts as a company's mail should be sent. */
const rank = (one: Mail) => `${String(one.priority).padStart(2, '0')} ${one.id}`

/** Companies with weights and backlogs, claims of any size, one or two at once, and mail that arrives in between. */
async function play(seed: number): Promise<Mix> {
  await db.query('delete from email_ready; delete from leases')
  const random = randomFrom(seed)
  const count = 2 + random(11)
  const weights = many(count, () => 1 + random(3))
  const paused = many(count, () => random(10) === 0)
  await Promise.all(weights.map((weight, company) => setUp(company, weight, paused[company]!)))
  const all = new Map<string, Mail>()
  const claims: Claim[] = []
  for (let round = 0; ; round++) {
    const arrivals = round < ROUNDS_WITH_ARRIVALS ? await arrive(random, count, round === 0 ? 40 : 10) : []
    for (const one of arrivals) all.set(one.id, one)
    const made = await claimAtOnce(random, round < ROUNDS_WITH_ARRIVALS ? count : 0)
    claims.push(...made.map(({ ids, caps }) => ({ arrivals: [], caps, served: ids.map(id => all.get(id)!) })))
    claims[claims.length - made.length]!.arrivals = arrivals
    if (round >= ROUNDS_WITH_ARRIVALS && made.every(one => one.ids.length === 0)) break
  }
  const { rows } = await db.query('select count(*)::int as left from email_ready')
  return { seed, weights, paused, claims, left: rows[0].left }
}

async function setUp(company: number, weight: number, paused: boolean): Promise<void> {
  await updateCompany(db, companyIds[company]!, { weight })
  if (paused) await pauseCompany(db, companyIds[company]!, 'test')
  else await resumeCompany(db, companyIds[company]!)
}

/** The claim sees only the ready row of an e-mail. */
async function arrive(random: Random, companies: number, most: number): Promise<Mail[]> {
  const mails = many(companies, company =>
    many(random(3) === 0 ? 0 : random(most), () => ({ company, priority: random(2) === 0 ? 5 : 1 + random(10) })),
  )
    .flat()
    .toSorted(() => random(3) - 1)
    .map(one => ({ ...one, id: uuidv7() }))
  await db.query(
    'insert into email_ready (company_id, priority, outbox_id) select * from unnest($1::uuid[], $2::smallint[], $3::uuid[])',
    [mails.map(one => companyIds[one.company]), mails.map(one => one.priority), mails.map(one => one.id)],
  )
  return mails
}

/** One claim or two at once, some with companies at their cap; answered in the order in which they were served. */
async function claimAtOnce(random: Random, capped: number): Promise<{ ids: string[]; caps: Map<number, number> }[]> {
  const wanted = many(1 + random(2), () => ({
    size: 1 + random(random(3) === 0 ? 60 : 12),
    caps: new Map(many(random(3) === 0 ? random(3) : 0, () => [random(Math.max(1, capped)), random(5)] as const)),
  }))
  const made = await Promise.all(
    wanted.map(async ({ size, caps }) => {
      const limits = capped > 0 ? caps : new Map<number, number>()
      const allowances = new Map([...limits].map(([company, room]) => [companyIds[company]!, room]))
      const { leaseId, claimed } = await claim(db, size, PER_TURN, { allowances })
      return { leaseId, caps: limits, ids: claimed.map(one => one.outboxId) }
    }),
  )
  const { rows } = await db.query<{ lease_id: string }>('select lease_id from leases order by place')
  const place = new Map(rows.map((row, index) => [row.lease_id, index]))
  return made.toSorted((a, b) => (place.get(a.leaseId) ?? -1) - (place.get(b.leaseId) ?? -1))
}

type Step = Mail & { others: number[]; claim: number }

/** Each e-mail in the order of service, with the other companies that had mail ready, were not paused and not at their cap. */
function* stepsOf({ weights, paused, claims }: Mix): Generator<Step> {
  const ready = weights.map(() => 0)
  for (const [claim, { arrivals, caps, served }] of claims.entries()) {
    for (const one of arrivals) ready[one.company]!++
    const room = weights.map((_, company) => caps.get(company) ?? Number.POSITIVE_INFINITY)
    for (const one of served) {
      const waiting = (other: number) => ready[other]! > 0 && !paused[other] && room[other]! > 0
      yield { ...one, claim, others: many(weights.length, other => other).filter(o => o !== one.company && waiting(o)) }
      ready[one.company]!--
      room[one.company]!--
    }
  }
}

describe(`in ${MIXES} random mixes from seed ${SEED} of companies, weights, backlogs, priorities, caps and batch sizes`, () => {
  let mixes: Mix[]

  beforeAll(async () => {
    mixes = []
    for (let played = 0; played < MIXES; played++) mixes.push(await play(SEED + played))
  })

  test('everything is claimed exactly once, and only what belongs to a paused company is left', () => {
    for (const { seed, claims, paused, left } of mixes) {
      const all = claims.flatMap(one => one.arrivals)
      const due = all.filter(one => !paused[one.company]).map(one => one.id)
      const served = claims.flatMap(one => one.served.map(mail => mail.id))
      expect(served.toSorted(), `seed ${seed}`).toEqual(due.toSorted())
      expect(left, `seed ${seed}`).toBe(all.length - due.length)
    }
  })

  test('nobody is served more than 3 × its weight in a row while another company has mail ready', () => {
    const wrong: string[] = []
    for (const mix of mixes) {
      let [current, run] = [-1, 0]
      for (const { company, others, claim } of stepsOf(mix)) {
        run = company === current ? run + 1 : 1
        current = company
        if (run > PER_TURN * mix.weights[company]! && others.length > 0)
          wrong.push(`seed ${mix.seed}, claim ${claim}: ${run} in a row of weight ${mix.weights[company]}`)
      }
    }
    expect(wrong.slice(0, 10), `${wrong.length} runs are too long`).toEqual([])
  })

  test('nobody starves: who has mail ready waits for one turn of each of the others at most', () => {
    const wrong: string[] = []
    for (const mix of mixes) {
      const turns = mix.weights.reduce((sum, weight) => sum + PER_TURN * weight, 0)
      const waited = mix.weights.map(() => 0)
      for (const { company, others, claim } of stepsOf(mix)) {
        mix.weights.forEach((weight, other) => {
          waited[other] = other !== company && others.includes(other) ? waited[other]! + 1 : 0
          if (waited[other]! > turns - PER_TURN * weight)
            wrong.push(`seed ${mix.seed}, claim ${claim}: company ${other} waited for ${waited[other]}`)
        })
      }
    }
    expect(wrong.slice(0, 10), `${wrong.length} waits are too long`).toEqual([])
  })

  test('inside a company nothing is claimed while something more urgent, or older and as urgent, is ready', () => {
    for (const { seed, claims } of mixes) {
      const waiting = new Map<string, Mail>()
      for (const [place, { arrivals, served }] of claims.entries()) {
        for (const one of arrivals) waiting.set(one.id, one)
        for (const one of served) {
          waiting.delete(one.id)
          const better = [...waiting.values()].find(other => other.company === one.company && rank(other) < rank(one))
          expect(better, `seed ${seed}, claim ${place}`).toBeUndefined()
        }
      }
    }
  })

  test('a company at its cap is given no more than that', () => {
    for (const { seed, claims } of mixes) {
      for (const { caps, served } of claims)
        for (const [company, room] of caps)
          expect(served.filter(one => one.company === company).length, `seed ${seed}`).toBeLessThanOrEqual(room)
    }
  })
})
