import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { acceptRequests } from '../src/outbox/accept.ts'
import type { DraftAddress, RequestToStore } from '../src/outbox/draft.ts'
import { ensurePartitions } from '../src/platform/postgres/partitions.ts'
import { openDatabase } from '../src/platform/postgres/pool.ts'
import type { Queryable } from '../src/platform/postgres/query.ts'
import { addressKey } from '../src/platform/text/addresses.ts'
import { hashEmail } from '../src/platform/text/hashing.ts'
import { uuidv7 } from '../src/platform/text/uuid.ts'
import { countActive } from '../src/suppression/reads.ts'
import { BODY, databaseUrlOf } from './accept.ts'
import { cpuMicros } from './support/claim-cost.ts'
import { startPostgres } from './support/databases.ts'
import { type Load, measure, median, ratios, spread } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { absoluteTable, interleave, ROUNDS } from './support/rounds.ts'

const ENTRIES = 1_000_000
const LOAD: Load = { connections: 64, seconds: Number(process.env.SECONDS ?? 5), warmUpSeconds: 2 }
/** What concurrent requests make of a flush. */
const [SIZE, BATCHES] = [50, 200]
/** Different recipients: of requests, and of the statement. */
const [RECIPIENTS, SPREAD] = [1_000, 1_000_000]
/** One e-mail in so many has a cc on the list. */
const HIT_EVERY = 50

/** listed1@example.com … listed1000000@example.com, nine in ten bounces, the others complaints. */
const FILL = `
insert into suppression_list (email_hash, reason, expires_at)
select 'sha256:' || encode(sha256(convert_to('listed' || n || '@example.com', 'UTF8')), 'hex'),
  case when n % 10 = 0 then 'COMPLAINT' else 'HARD_BOUNCE' end, case when n % 10 = 0 then null else now() + interval '90 days' end
from generate_series(1, ${ENTRIES}) n`

/** What the check of to, cc and bcc costs an accept: whole requests, and the accepting statement alone. */
export async function benchSuppression(): Promise<void> {
  const { micros, countMs } = await measureStatement()
  const requests = await measureRequests()
  const figures = (name: 'full' | 'empty', what: keyof Round) => requests[name].map(one => one[what])
  const adds = micros['a million entries'].map((one, round) => one - micros['without the check'][round]!)
  const wholeRequest = median(figures('empty', 'cpuMicros'))
  writeResults('suppression', [
    `${ROUNDS} rounds. Statement: ${BATCHES} batches of ${SIZE} in turn with the others, lower quartile, without the disk's part. Requests: ${LOAD.connections} connections, ${LOAD.seconds} s each. One e-mail in ${HIT_EVERY} has a cc that is on the list of ${ENTRIES}.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| what the check adds ÷ CPU of a whole request (gateway and Postgres, empty list) | ≤ 0.05 | ${spread(
      adds.map(one => one / wholeRequest),
      3,
    )} |`,
    `| statement with ${ENTRIES} entries ÷ with an empty list | | ${spread(ratios(micros['a million entries'], micros['an empty list']), 2)} |`,
    `| statement with ${ENTRIES} entries ÷ without the check | | ${spread(ratios(micros['a million entries'], micros['without the check']), 2)} |`,
    `| requests per second with ${ENTRIES} entries ÷ with an empty list | ≥ 0.95 | ${spread(ratios(figures('full', 'perSecond'), figures('empty', 'perSecond')), 2)} |`,
    '',
    ...absoluteTable('µs of the statement per e-mail', micros, 1),
    '',
    `Requests per second: ${spread(figures('full', 'perSecond'))} with, ${spread(figures('empty', 'perSecond'))} without; µs of CPU per request: ${spread(figures('full', 'cpuMicros'))} with, ${spread(figures('empty', 'cpuMicros'))} without. Counting the list for \`suppression_list_size\`: ${spread(countMs)} ms.`,
  ])
}

type Round = { perSecond: number; cpuMicros: number }

async function measureRequests(): Promise<Record<'full' | 'empty', Round[]>> {
  const [full, empty] = [await startOurs(), await startOurs()]
  try {
    await fill(databaseUrlOf(full))
    const bodies = Array.from({ length: RECIPIENTS }, (_, n) => JSON.stringify({ ...BODY, ...recipientsOf(n) }))
    const round = async (gateway: RunningGateway, name: string): Promise<Round> => {
      const target = { name, url: gateway.url, headers: { 'x-api-key': gateway.apiKey }, body: '', bodies }
      await measure(target, { ...LOAD, seconds: LOAD.warmUpSeconds, warmUpSeconds: 0 })
      const before = cpuOf(gateway)
      const { perSecond, refused } = await measure(target, { ...LOAD, warmUpSeconds: 0 })
      if (refused > 0) throw new Error(`${refused} requests were refused`)
      return { perSecond, cpuMicros: (cpuOf(gateway) - before) / (perSecond * LOAD.seconds) }
    }
    return await interleave(
      { empty: () => round(empty, 'empty'), full: () => round(full, 'full') },
      { warmUpRounds: 1, show: ({ perSecond, cpuMicros }) => `${perSecond.toFixed(0)}/s ${cpuMicros.toFixed(0)} µs` },
    )
  } finally {
    await full.stop()
    await empty.stop()
  }
}

/** Of the gateway and of every process of its Postgres: other work on the machine changes it little. */
function cpuOf({ pid, dataDir }: RunningGateway): number {
  const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
  const children = readdirSync('/proc').filter(name => /^\d+$/.test(name) && parentOf(Number(name)) === postmaster)
  return [pid, postmaster, ...children.map(Number)].reduce((sum, one) => sum + cpuMicros(one), 0)
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}

const VARIANTS = {
  'without the check': (sql: string) => sql.replace(/where s\.hash_key = a\.key[\s\S]*?limit 1/, 'where false limit 1'),
  'an empty list': (sql: string) => sql.replace('from suppression_list s', 'from nobody s'),
  'a million entries': (sql: string) => sql,
}
type Variant = keyof typeof VARIANTS

/** Microseconds an e-mail, round by round. */
async function measureStatement(): Promise<{ micros: Record<Variant, number[]>; countMs: number[] }> {
  const postgres = await startPostgres()
  const micros: Record<Variant, number[]> = { 'without the check': [], 'an empty list': [], 'a million entries': [] }
  const countMs: number[] = []
  try {
    const url = await postgres.fresh()
    await fill(url)
    const database = openDatabase(url, () => {})
    const client = await database.short.connect()
    // The disk's part is the same for all, and larger than what is looked for.
    await client.query('set synchronous_commit = off')
    for (let round = 0; round < ROUNDS; round++) {
      const figures = await alternate(client)
      for (const name of Object.keys(figures) as Variant[]) micros[name].push(figures[name])
      const startedMs = performance.now()
      await countActive(database.pool)
      countMs.push(performance.now() - startedMs)
      console.log(`round ${round + 1} statement:`, figures)
    }
    client.release()
    await database.close()
  } finally {
    await postgres.close()
  }
  return { micros, countMs }
}

/** Batch by batch in turn; the lower quartile, since other work on the machine only ever adds. */
async function alternate(client: pg.ClientBase): Promise<Record<Variant, number>> {
  const times: Record<Variant, number[]> = { 'without the check': [], 'an empty list': [], 'a million entries': [] }
  for (let batch = 0; batch < BATCHES; batch++) {
    for (const name of Object.keys(VARIANTS) as Variant[]) {
      const requests = Array.from({ length: SIZE }, (_, n) => requestOf((batch * SIZE + n) % SPREAD))
      const startedMs = performance.now()
      await acceptRequests(rewriting(client, name), requests)
      times[name].push((performance.now() - startedMs) * (1000 / SIZE))
    }
  }
  const quartile = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 4)]!
  return {
    'without the check': quartile(times['without the check']),
    'an empty list': quartile(times['an empty list']),
    'a million entries': quartile(times['a million entries']),
  }
}

/** The product's own statement, as the line sends it, with its text rewritten and a name of its own. */
function rewriting(client: pg.ClientBase, variant: Variant): Queryable {
  return {
    query: (query: { name: string; text: string; values: unknown[] }) =>
      client.query({ ...query, name: `${query.name} ${variant}`, text: VARIANTS[variant](query.text) }),
  } as unknown as Queryable
}

async function fill(url: string): Promise<void> {
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  await db.query(FILL)
  await db.query('create table nobody (like suppression_list including all)')
  await db.query('vacuum analyze suppression_list')
  await db.query('checkpoint')
  await ensurePartitions(db)
  await db.end()
}

const companyId = uuidv7()

function recipientsOf(n: number): { to: string; cc?: string[] } {
  const to = `cliente${n}@example.com`
  return n % HIT_EVERY === 0 ? { to, cc: [`listed${n + 1}@example.com`] } : { to }
}

function requestOf(n: number): RequestToStore {
  const { to, cc = [] } = recipientsOf(n)
  const address = (kind: DraftAddress['kind'], text: string): DraftAddress => {
    const hash = hashEmail(text)
    return { kind, address: text, name: null, hash, key: addressKey(hash) }
  }
  const draft: RequestToStore['drafts'][number] = {
    index: 0,
    outboxId: uuidv7(),
    eventId: uuidv7(),
    companyId,
    requestId: 'bench',
    externalId: BODY.externalId,
    test: false,
    from: BODY.from,
    subject: BODY.subject,
    template: null,
    templateVersion: null,
    tags: BODY.tags,
    priority: 5,
    retryPolicy: 'steps',
    onUnknown: 'resend',
    maxAttempts: 5,
    delayMs: null,
    scheduledAt: null,
    html: BODY.html,
    htmlProof: null,
    text: null,
    replyTo: null,
    headers: null,
    variables: null,
    addresses: [address('to', to), ...cc.map(one => address('cc', one))],
    recipientRecord: null,
    attachments: [],
    resendOf: null,
    traceparent: null,
  }
  return { drafts: [draft], strict: true, idempotency: null, refusedBefore: [] }
}
