import pg from 'pg'
import { dropOldDays } from '../src/outbox/retention.ts'
import { BODY, databaseUrlOf } from './accept.ts'
import { median, ratios, spread } from './support/measure.ts'
import { startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { loadSteadily } from './support/steady-load.ts'

/** Of the day that is dropped. */
const EVENTS = Number(process.env.EVENTS ?? 10_000_000)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
/** Well below what the machine can accept, so that the tail shows waiting and not the load itself. */
const PER_SECOND = Number(process.env.PER_SECOND ?? 500)
const SECONDS = Number(process.env.SECONDS ?? 10)
const DAYS_AGO = 100
const CHUNK = 500_000

type Round = { quietMs: number; beside: number; dropMs: number; longestMs: number }

/** What accept's p99 does while retention drops a day of events, against the same load before it. */
export async function benchRetention(): Promise<void> {
  const ours = await startOurs()
  const pool = new pg.Pool({ connectionString: databaseUrlOf(ours), max: 4 })
  const headers = { 'x-api-key': ours.apiKey, 'content-type': 'application/json' }
  const body = JSON.stringify(BODY)
  const load = () =>
    loadSteadily({
      url: `${ours.url}/v1/email/send`,
      headers,
      body: () => body,
      perSecond: PER_SECOND,
      requests: PER_SECOND * SECONDS,
      connections: 64,
    })
  const rounds: Round[] = []
  try {
    await load()
    for (let round = 1; round <= ROUNDS; round++) {
      await fillDay(pool)
      const quiet = await load()
      const startedMs = performance.now()
      const [beside, dropMs] = await Promise.all([load(), drop(pool, startedMs)])
      if (quiet.refused + beside.refused > 0) throw new Error('requests were refused')
      const one = {
        quietMs: p99(quiet.tookMs),
        beside: p99(beside.tookMs),
        dropMs,
        longestMs: Math.max(...beside.tookMs),
      }
      rounds.push(one)
      console.log(
        `round ${round}: p99 ${one.quietMs.toFixed(1)} ms before, ${one.beside.toFixed(1)} ms beside; dropped in ${one.dropMs.toFixed(0)} ms`,
      )
    }
    report(rounds)
  } finally {
    await pool.end()
    await ours.stop()
  }
}

const p99 = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!

/** Events only, of e-mails that are not there: what is dropped is their table. */
async function fillDay(pool: pg.Pool): Promise<void> {
  const startedMs = performance.now()
  await pool.query(`select ensure_email_partitions((now() at time zone 'UTC')::date - ${DAYS_AGO})`)
  for (let from = 1; from <= EVENTS; from += CHUNK) {
    await pool.query(
      `insert into email_events (outbox_id, company_id, type, created_at, metadata)
       select uuid_v7_at(at), '00000000-0000-4000-8000-000000000001', 'DELIVERED', at, '{"provider": "capture", "recipientHash": "sha256:0"}'
       from generate_series($1::int, $2::int) n
       cross join lateral (select (((now() at time zone 'UTC')::date - ${DAYS_AGO})::timestamp + n * interval '86399 seconds' / $3) at time zone 'UTC' as at) t`,
      [from, Math.min(EVENTS, from + CHUNK - 1), EVENTS],
    )
  }
  await pool.query(`insert into email_days (day, counted_at) values ((now() at time zone 'UTC')::date - ${DAYS_AGO}, now())
    on conflict (day) do update set counted_at = now(), events_dropped_at = null`)
  await pool.query('checkpoint')
  console.log(`${EVENTS} events in ${Math.round((performance.now() - startedMs) / 1000)} s`)
}

/** In the middle of the load. */
async function drop(pool: pg.Pool, startedMs: number): Promise<number> {
  const waitMs = Math.max(0, startedMs + (SECONDS * 1_000) / 3 - performance.now())
  await new Promise(resolve => setTimeout(resolve, waitMs))
  const beganMs = performance.now()
  const dropped = await dropOldDays(pool, { content: 0, events: 90, emails: 0 })
  if (dropped.length !== 1) throw new Error(`dropped ${JSON.stringify(dropped)}`)
  return performance.now() - beganMs
}

function report(rounds: Round[]): void {
  const [quiet, beside] = [rounds.map(one => one.quietMs), rounds.map(one => one.beside)]
  writeResults('retention', [
    `Retention drops a day of ${EVENTS} events (${ROUNDS} rounds) in the middle of ${SECONDS} s of single requests, ${PER_SECOND} a second at random moments; the same load just before is the reference.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| p99 of accept while the day is dropped ÷ before | ≤ 1.1 | ${spread(ratios(beside, quiet), 2)} |`,
    '',
    `p99 in ms: ${spread(quiet, 1)} before, ${spread(beside, 1)} beside; the longest request took ${median(rounds.map(one => one.longestMs)).toFixed(0)} ms. The drop took ${spread(rounds.map(one => one.dropMs))} ms.`,
  ])
}
