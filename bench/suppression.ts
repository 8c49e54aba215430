import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { hashEmail } from '../src/contracts/hashing.ts'
import { uuidv7 } from '../src/contracts/uuid.ts'
import { type AcceptUnit, acceptUnits, type DraftAddress } from '../src/db/accept.ts'
import { ensurePartitions } from '../src/db/partitions.ts'
import type { Queryable } from '../src/db/pool.ts'
import { countActive } from '../src/db/suppression-stats.ts'
import { addressKey } from '../src/pipeline/accept-email.ts'
import { BODY, databaseUrlOf } from './accept.ts'
import { type Claim, cpuMicros, measureClaims } from './support/claim-cost.ts'
import { startPostgres } from './support/databases.ts'
import { type Load, measure, ratios, spread } from './support/measure.ts'
import { type RunningGateway, startOurs } from './support/processes.ts'
import { writeResults } from './support/results.ts'
import { interleave, ROUNDS } from './support/rounds.ts'

const ENTRIES = 1_000_000
const LOAD: Load = { connections: 64, seconds: Number(process.env.SECONDS ?? 5), warmUpSeconds: 2 }
/** What concurrent requests make of a flush; CPU is read in hundredths of a second, so many of them. */
const [SIZE, BATCHES] = [50, 300]
const RECIPIENTS = 1_000
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
  const requests = await measureRequests()
  const statements = await measureStatement()
  const over = (name: keyof typeof statements) => ratios(statements[name], statements['without the check'])
  const figures = (name: 'full' | 'empty', what: keyof Round) => requests[name].map(one => one[what])
  const requestRatio = (what: keyof Round) => spread(ratios(figures('full', what), figures('empty', what)), 2)
  writeResults('suppression', [
    `${ROUNDS} rounds. Requests: ${LOAD.connections} connections, ${LOAD.seconds} s each, ${RECIPIENTS} recipients, one e-mail in ${HIT_EVERY} with a cc that is on the list of ${ENTRIES}. Statement: CPU of its backend, ${BATCHES} batches of ${SIZE}.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| accept with ${ENTRIES} entries ÷ accept with an empty list, CPU of gateway and Postgres per request | ≤ 1.05 | ${requestRatio('cpuMicros')} |`,
    `| the same, requests per second | ≥ 0.95 | ${requestRatio('perSecond')} |`,
    `| statement with ${ENTRIES} entries ÷ statement without the check, CPU | | ${spread(over('a million entries'), 2)} |`,
    `| statement with an empty list ÷ statement without the check, CPU | | ${spread(over('an empty list'), 2)} |`,
    '',
    `Requests per second: ${spread(figures('full', 'perSecond'))} with, ${spread(figures('empty', 'perSecond'))} without; µs of CPU per request: ${spread(figures('full', 'cpuMicros'))} with, ${spread(figures('empty', 'cpuMicros'))} without. Statement, µs of CPU per e-mail: ${Object.entries(
      statements,
    )
      .filter(([name]) => name !== 'count')
      .map(([name, values]) => `${spread(values, 1)} ${name}`)
      .join(', ')}. Counting the list for \`suppression_list_size\`: ${spread(statements.count)} ms.`,
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

async function measureStatement() {
  const postgres = await startPostgres()
  try {
    const url = await postgres.fresh()
    await fill(url)
    const cost = async (rewrite: (sql: string) => string) =>
      (await measureClaims(url, accept(rewrite), { claims: BATCHES, size: SIZE })).cpuMicrosPerEmail
    return await interleave({
      'without the check': () =>
        cost(sql => sql.replace(/where s\.hash_key = a\.key[\s\S]*?limit 1/, 'where false limit 1')),
      'an empty list': () => cost(sql => sql.replace('from suppression_list s', 'from nobody s')),
      'a million entries': () => cost(sql => sql),
      count: () => counting(url),
    })
  } finally {
    await postgres.close()
  }
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

async function counting(url: string): Promise<number> {
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const startedMs = performance.now()
  await countActive(db)
  const ms = performance.now() - startedMs
  await db.end()
  return ms
}

const companyId = uuidv7()

/** The product's own statement, as the line sends it, with its text rewritten. */
function accept(rewrite: (sql: string) => string): Claim {
  let next = 0
  return async function acceptBatch(client, size) {
    const rewritten = {
      query: (query: { text: string }) => client.query({ ...query, text: rewrite(query.text) }),
    } as unknown as Queryable
    const units = Array.from({ length: size }, () => unitOf(next++ % RECIPIENTS))
    const outcomes = await acceptUnits(rewritten, units)
    return outcomes.filter(one => !(one instanceof Error) && one.kind === 'answered').length
  }
}

function recipientsOf(n: number): { to: string; cc?: string[] } {
  const to = `cliente${n}@example.com`
  return n % HIT_EVERY === 0 ? { to, cc: [`listed${n + 1}@example.com`] } : { to }
}

function unitOf(n: number): AcceptUnit {
  const { to, cc = [] } = recipientsOf(n)
  const address = (kind: DraftAddress['kind'], text: string): DraftAddress => {
    const hash = hashEmail(text)
    return { kind, address: text, name: null, hash, key: addressKey(hash) }
  }
  const draft: AcceptUnit['drafts'][number] = {
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
    person: null,
    attachments: [],
  }
  return { drafts: [draft], strict: true, idempotency: null, refusedBefore: [] }
}
