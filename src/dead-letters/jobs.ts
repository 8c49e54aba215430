import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
import { CommandFailed, operator } from '../console/command.ts'
import {
  addItems,
  type Batch,
  carryOutOrStop,
  type Job,
  type JobCounts,
  type JobKind,
  type NewJob,
  submitJob,
  takeItems,
} from '../jobs/jobs.ts'
import {
  countWalk,
  type DeadLetterCursor,
  type DeadLetterFilter,
  type DeadLetterUse,
  type DeadStatus,
  type NamedPurge,
  type NamedReplay,
  purgeByIds,
  readClock,
  replayByIds,
  walkDeadLetters,
} from '../outbox/dead-letters.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { uuidv7 } from '../platform/text/uuid.ts'

/** One commit each, so that nobody waits long for a lock and a crash loses little. */
const BATCH = 200
const PAUSE_MS = 200
/** What is held is looked at again about every half second: after a minute it is given up. */
const MAX_WAITS = 150

type Input = {
  /** So many e-mails by their ids, instead of a filter. */
  chosen?: number
  company?: string | null
  code?: string | null
  status?: string | null
  since?: string | null
  until?: string | null
  /** No more than so many are replayed or purged. */
  limit?: number
}

type Position = {
  /** The last dead letter of the walk over a filter. */
  after?: DeadLetterCursor
  /** The walk has ended; only items are left. */
  walked?: boolean
  /** How often in a row everything that was left was held by somebody else. */
  waits?: number
}

/** Each by its id; what somebody holds at this moment is busy. */
type Act = (tx: Queryable, outboxIds: string[], by: string) => Promise<(NamedReplay | NamedPurge)[]>

export const replayJobs = deadLetterJobs('replay', replayByIds)
export const purgeJobs = deadLetterJobs('purge', purgeByIds)

/** First the walk over the filter, from the oldest dead letter to the newest; then the items: those chosen by id, and those held. */
function deadLetterJobs(use: DeadLetterUse, act: Act): JobKind {
  return {
    name: `${use}-dead-letters`,
    maxErrors: 5,
    async nextBatch(tx, job) {
      const { limit = Number.POSITIVE_INFINITY, chosen } = job.input as Input
      const size = Math.min(BATCH, limit - (job.counts.replayed ?? 0) - (job.counts.purged ?? 0))
      if (size <= 0) return { counts: {}, position: job.position, next: 'end' }
      const isWalk = chosen === undefined && (job.position as Position).walked !== true
      return isWalk ? walkBatch(tx, job, size, use, act) : itemBatch(tx, job, size, act)
    },
  }
}

async function walkBatch(tx: Queryable, job: Job, limit: number, use: DeadLetterUse, act: Act): Promise<Batch> {
  const { after } = job.position as Position
  const found = await walkDeadLetters(tx, filterOf(job.input), { use, after, limit })
  const last = found.at(-1)
  if (!last) return { counts: {}, position: { walked: true }, next: 'more' }
  const ids = found.map(one => one.outboxId)
  const { counts, busy } = countOutcomes(await act(tx, ids, job.requestedBy))
  await addItems(tx, job.jobId, busy)
  return { counts, position: { after: last }, next: 'more' }
}

async function itemBatch(tx: Queryable, job: Job, limit: number, act: Act): Promise<Batch> {
  const ids = (await takeItems(tx, job.jobId, limit)).map(one => one.key)
  if (ids.length === 0) return { counts: {}, position: { walked: true }, next: 'end' }
  const { counts, busy } = countOutcomes(await act(tx, ids, job.requestedBy))
  const { waits = 0 } = job.position as Position
  const isOver = waits >= MAX_WAITS
  if (!isOver) await addItems(tx, job.jobId, busy)
  else if (busy.length > 0) counts.held = busy.length
  if (isOver || busy.length < ids.length) return { counts, position: { walked: true }, next: 'more' }
  return { counts, position: { walked: true, waits: waits + 1 }, next: 'soon' }
}

const OUTCOME = {
  replayed: 'replayed',
  purged: 'purged',
  'payload-purged': 'payloadPurged',
  'not-found': 'notFound',
} as const

function countOutcomes(outcomes: (NamedReplay | NamedPurge)[]) {
  const counts: JobCounts = {}
  const busy: { key: string }[] = []
  for (const { outboxId, outcome } of outcomes) {
    if (outcome === 'busy') busy.push({ key: outboxId })
    else counts[OUTCOME[outcome]] = (counts[OUTCOME[outcome]] ?? 0) + 1
  }
  return { counts, busy }
}

function filterOf(input: Input): DeadLetterFilter {
  const { company = null, code = null, status = null, since = null, until = null } = input
  return { companyId: company, code, status: status as DeadStatus | null, since, until }
}

type Request = { use: DeadLetterUse; limit?: number | undefined } & Pick<
  NewJob,
  'requestedBy' | 'reason' | 'isBulkAction'
>

export async function submitChosen(pool: pg.Pool, outboxIds: string[], { use, ...by }: Request): Promise<string> {
  const jobId = uuidv7()
  const items = [...new Set(outboxIds.map(id => id.toLowerCase()))].map(key => ({ key }))
  const input = { chosen: items.length } satisfies Input
  await inTransaction(pool, async tx => {
    await addItems(tx, jobId, items)
    await submitJob(tx, { jobId, kind: `${use}-dead-letters`, input, companyId: null, total: items.length, ...by })
  })
  return jobId
}

/**
 * Bounded by the time of the request, so dead letters that come later, also by its own replays, are left alone. What `also` writes is
 * committed with the job.
 */
export async function submitWalk(
  pool: pg.Pool,
  filter: DeadLetterFilter,
  { use, limit, ...by }: Request,
  also: (tx: Queryable) => Promise<void> = async () => {},
): Promise<string> {
  const jobId = uuidv7()
  const now = await readClock(pool)
  const until = filter.until !== null && Date.parse(filter.until) < Date.parse(now) ? filter.until : now
  const { companyId, ...rest } = filter
  const input = { company: companyId, ...rest, until, ...(limit !== undefined && { limit }) } satisfies Input
  const total = Math.min(await countWalk(pool, { ...filter, until }, use), limit ?? Number.POSITIVE_INFINITY)
  await inTransaction(pool, async tx => {
    await also(tx)
    await submitJob(tx, { jobId, kind: `${use}-dead-letters`, input, companyId, total, ...by })
  })
  return jobId
}

type WalkOptions = { by: string; limit?: number | undefined; onProgress?: (done: number, total: number) => void }

/** For a command: replays what was in the queue when it was called, each once; what fails again meanwhile is newer and stays. */
export async function replayMatching(pool: pg.Pool, filter: DeadLetterFilter, options: WalkOptions) {
  const { replayed = 0, held = 0 } = await carryOutWalk(pool, filter, 'replay', options)
  if (held > 0) throw entriesHeld()
  return { replayed }
}

/** For a command: the e-mails keep their rows and their status, and can no longer be replayed. */
export async function purgeMatching(pool: pg.Pool, filter: DeadLetterFilter, options: WalkOptions) {
  const { purged = 0 } = await carryOutWalk(pool, filter, 'purge', options)
  return { purged }
}

async function carryOutWalk(pool: pg.Pool, filter: DeadLetterFilter, use: DeadLetterUse, options: WalkOptions) {
  const { by, limit, onProgress = () => {} } = options
  const request = { use, limit, requestedBy: by, reason: null, isBulkAction: false }
  const { companyId, ...rest } = filter
  const audit = {
    performedBy: operator(),
    action: use === 'purge' ? 'DEAD_LETTERS_PURGED' : 'DEAD_LETTERS_REPLAYED',
    subjectType: 'dead_letters',
    subjectId: companyId ?? 'all',
    companyId,
    after: { ...rest, ...(limit !== undefined && { limit }) },
  } as const
  const jobId = await submitWalk(pool, filter, request, tx => writeAudit(tx, audit))
  const job = await carryOutOrStop(pool, jobId, use === 'purge' ? purgeJobs : replayJobs, onProgress)
  return job.counts
}

/**
 * Each by its id, an expired e-mail too; the answer has one outcome for each id, none of them `busy`. `act` is for callers that write
 * something in the same transaction.
 */
export async function replayNamed<Db extends Queryable>(
  db: Db,
  outboxIds: string[],
  by: string,
  act: (db: Db, outboxIds: string[], by: string) => Promise<NamedReplay[]> = replayByIds,
): Promise<NamedReplay[]> {
  const outcomes: NamedReplay[] = []
  let waiting = [...new Set(outboxIds.map(id => id.toLowerCase()))]
  for (let waits = 0; waiting.length > 0; ) {
    const batch = await act(db, waiting.slice(0, BATCH), by)
    const busy = batch.filter(one => one.outcome === 'busy')
    outcomes.push(...batch.filter(one => one.outcome !== 'busy'))
    waiting = [...waiting.slice(BATCH), ...busy.map(one => one.outboxId)]
    if (busy.length === 0) continue
    if (++waits > MAX_WAITS) throw entriesHeld()
    await sleep(PAUSE_MS)
  }
  return outcomes
}

const entriesHeld = () =>
  new CommandFailed('Some entries are held by somebody else and were not replayed. Run it again.', 'EMAIL_LOCKED')
