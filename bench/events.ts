import { randomUUID } from 'node:crypto'
import autocannon from 'autocannon'
import pg from 'pg'
import { BODY, databaseUrlOf } from './accept.ts'
import { spread } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { interleave, RATIO_HEAD, ROUNDS, ratioRow } from './support/rounds.ts'
import { deliveryOf, makeSnsSigner, type SnsSigner, TOPIC } from './support/sns-load.ts'
import { loadSteadily } from './support/steady-load.ts'

const PACE = 1_000
const PACED_SECONDS = Number(process.env.SECONDS ?? 8)
/** Events of one measurement at full speed. */
const EVENTS = Number(process.env.EVENTS ?? 8_000)
/** Sent before anything is measured: how fast sending alone is, and what the events speak of. */
const EMAILS = Number(process.env.EMAILS ?? 10_000)
const RAW_ROWS = 256
/** SNS comes with many at once; a program of ours with as many as its pool has. */
const CONNECTIONS = { http: 128, postgres: 32 }

type Measured = 'paced at 1 000 a second' | 'as fast as it goes' | 'plain insert, one by one' | 'plain insert, in bulk'
type Figure = { perSecond: number; p99Ms: number; sentPerSecond: number; refused: number }

/** Events stored through the door while sending goes on at half its speed, against a plain insert of the same rows beside the same. */
export async function benchEvents(): Promise<void> {
  const signer = makeSnsSigner()
  const gateway = await startOurs(
    { SNS_TOPIC_ARNS: TOPIC, SNS_CERT_DIR: signer.directory, WORKER_CONCURRENCY: '50', LOG_LEVEL: 'warn' },
    'all',
  )
  const db = new pg.Pool({ connectionString: databaseUrlOf(gateway), max: CONNECTIONS.postgres + 2 })
  try {
    const full = await sendAll(gateway, db, EMAILS)
    console.log(`sending alone: ${full.toFixed(0)}/s`)
    const { rows } = await db.query<{ outbox_id: string }>('select outbox_id from email_outbox limit $1', [EMAILS])
    const ids = rows.map(row => row.outbox_id)
    const beside = (act: () => Promise<Omit<Figure, 'sentPerSecond'>>) => () =>
      besideSending(gateway, db, full / 2, act)
    const figures = await interleave({
      'paced at 1 000 a second': beside(() =>
        throughTheDoor(gateway, db, bodies(signer, ids, PACE * PACED_SECONDS), PACE),
      ),
      'as fast as it goes': beside(() => throughTheDoor(gateway, db, bodies(signer, ids, EVENTS), null)),
      'plain insert, one by one': beside(() =>
        plainInsert(db, payloads(ids, EVENTS), { rows: 1, connections: CONNECTIONS.postgres }),
      ),
      'plain insert, in bulk': beside(() => plainInsert(db, payloads(ids, EVENTS), { rows: RAW_ROWS, connections: 2 })),
    })
    report(figures, full, await sizeOf(db))
  } finally {
    await db.end()
    await gateway.stop()
  }
}

const payloads = (ids: string[], count: number) =>
  Array.from({ length: count }, (_, n) => deliveryOf(ids[n % ids.length]!, BODY.to))

/** Signed beforehand: signing costs thirty times what checking does. */
const bodies = (signer: SnsSigner, ids: string[], count: number) => payloads(ids, count).map(signer.sign)

/** A backlog, and how fast it is worked off. */
async function sendAll(gateway: RunningGateway, db: pg.Pool, count: number): Promise<number> {
  const startedMs = performance.now()
  for (let sent = 0; sent < count; sent += 100) await sendBatch(gateway, 100)
  while ((await sentSoFar(db)) < count) await new Promise(resolve => setTimeout(resolve, 20))
  return (count * 1000) / (performance.now() - startedMs)
}

async function sendBatch(gateway: RunningGateway, size: number): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/email/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': gateway.apiKey },
    body: JSON.stringify(Array.from({ length: size }, () => BODY)),
  })
  if (response.status !== 202) throw new Error(`a batch was answered with ${response.status}`)
  await response.arrayBuffer()
}

const sentSoFar = async (db: pg.Pool) =>
  Number((await db.query(`select count(*) from email_outbox where sent_at is not null`)).rows[0].count)

/** While e-mails are handed in at this rate. The inbox is worked off before the next one. */
async function besideSending(
  gateway: RunningGateway,
  db: pg.Pool,
  perSecond: number,
  act: () => Promise<Omit<Figure, 'sentPerSecond'>>,
): Promise<Figure> {
  let on = true
  const startedMs = performance.now()
  const before = await sentSoFar(db)
  const feeding = (async () => {
    for (let handedIn = 0; on; ) {
      const due = (perSecond * (performance.now() - startedMs)) / 1000 - handedIn
      if (due < 50) await new Promise(resolve => setTimeout(resolve, 10))
      else {
        await sendBatch(gateway, Math.min(100, Math.floor(due)))
        handedIn += Math.min(100, Math.floor(due))
      }
    }
  })()
  const figure = await act()
  const sentPerSecond = (((await sentSoFar(db)) - before) * 1000) / (performance.now() - startedMs)
  on = false
  await feeding
  while ((await db.query(`select 1 from provider_events where state = 'waiting' limit 1`)).rowCount)
    await new Promise(resolve => setTimeout(resolve, 50))
  return { ...figure, sentPerSecond }
}

async function throughTheDoor(gateway: RunningGateway, db: pg.Pool, messages: string[], rate: number | null) {
  const storing = await sinceNow(db)
  const request = {
    url: `${gateway.url}/webhooks/ses`,
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': 'Notification' },
    connections: CONNECTIONS.http,
  }
  const bodyOf = (nth: number) => messages[nth % messages.length]!
  if (rate) {
    const load = { ...request, body: bodyOf, perSecond: rate, requests: messages.length }
    const { tookMs, refused } = await loadSteadily(load)
    const p99Ms = tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)]!
    return { perSecond: await storing(), p99Ms, refused }
  }
  let next = 0
  const result = await autocannon({
    ...request,
    method: 'POST',
    amount: messages.length,
    requests: [{ setupRequest: given => ({ ...given, body: bodyOf(next++) }) }],
  })
  return { perSecond: await storing(), p99Ms: result.latency.p99, refused: result.non2xx + result.errors }
}

/** Rows per second from the first to the last one, by the clock of Postgres: what drives the load takes a while to start and to end. */
async function sinceNow(db: pg.Pool): Promise<() => Promise<number>> {
  const { rows: start } = await db.query('select clock_timestamp()::text as at')
  return async () => {
    const { rows } = await db.query(
      `select count(*) / extract(epoch from max(received_at) - min(received_at)) as "perSecond" from provider_events
       where received_at >= $1::timestamptz`,
      [start[0].at],
    )
    return Number(rows[0].perSecond)
  }
}

/** One by one: what a door without a batcher does, a commit before each answer. In bulk: what a script does that has them all. */
async function plainInsert(db: pg.Pool, rows: string[], how: { rows: number; connections: number }) {
  const storing = await sinceNow(db)
  let next = 0
  await Promise.all(
    Array.from({ length: how.connections }, async () => {
      while (next < rows.length) {
        const some = rows.slice(next, next + how.rows)
        next += how.rows
        const ids = some.map(() => randomUUID())
        await db.query({
          name: 'plain-insert',
          text: `insert into provider_events (event_id, provider, external_id, payload)
                 select i, 'ses', x, p from unnest($1::uuid[], $2::text[], $3::text[]) as t(i, x, p) on conflict do nothing`,
          values: [ids, ids, some],
        })
      }
    }),
  )
  return { perSecond: await storing(), p99Ms: 0, refused: 0 }
}

async function sizeOf(db: pg.Pool): Promise<string> {
  const { rows } = await db.query(
    `select pg_size_pretty(pg_total_relation_size('provider_events')) as size, count(*) from provider_events`,
  )
  return `${rows[0].count} rows, ${rows[0].size}`
}

function report(figures: Record<Measured, Figure[]>, full: number, size: string): void {
  const of = (name: keyof typeof figures, pick: (one: Figure) => number) => figures[name].map(pick)
  const stored = (name: keyof typeof figures) => of(name, one => one.perSecond)
  const refused = Object.values(figures)
    .flat()
    .reduce((sum, one) => sum + one.refused, 0)
  writeResults('events', [
    `Signed SNS messages (version 2, pinned certificate) of ${deliveryOf(randomUUID(), BODY.to).length} bytes each through HTTP, ${CONNECTIONS.http} connections, to one process that also sends e-mails (capture) at half of the ${full.toFixed(0)} a second it does alone, and processes the events. ${ROUNDS} rounds: ${PACED_SECONDS} s paced, ${EVENTS} events otherwise. The plain inserts go into the same table, beside the same sending. Refused or failed: ${refused}. The inbox at the end: ${size}.`,
    '',
    ...RATIO_HEAD,
    `| events stored per second, offered ${PACE} a second | 1 000 | ${spread(stored('paced at 1 000 a second'))} |`,
    ratioRow(
      'stored ÷ plain insert of the same rows, one by one over 32 connections',
      '≥ 0.5',
      stored('as fast as it goes'),
      stored('plain insert, one by one'),
    ),
    ratioRow(
      `stored ÷ plain insert of the same rows, ${RAW_ROWS} a statement, without HTTP and signatures`,
      '≥ 0.5',
      stored('as fast as it goes'),
      stored('plain insert, in bulk'),
    ),
    '',
    '| | events per second | p99 ms of the answer | e-mails sent per second meanwhile |',
    '|---|---|---|---|',
    ...Object.keys(figures).map(key => {
      const name = key as keyof typeof figures
      const p99 = name.startsWith('plain') ? '' : spread(of(name, one => one.p99Ms))
      return `| ${name} | ${spread(stored(name))} | ${p99} | ${spread(of(name, one => one.sentPerSecond))} |`
    }),
  ])
}
