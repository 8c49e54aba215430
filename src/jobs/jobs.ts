import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AuditAction } from '../audit/audit.ts'
import { writeAudit } from '../audit/audit.ts'
import { CommandFailed } from '../console/command.ts'
import { DatabaseUnavailable, isPassingConflict } from '../platform/postgres/errors.ts'
import { fragment, inTransaction, iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import type { CsvRule } from '../platform/text/refusal.ts'

type JobKindName = 'replay-dead-letters' | 'purge-dead-letters' | 'import-suppressions' | 'erase-person'

/** stopped: by whoever asked for it. failed: a batch ended with an error again and again. */
export const JOB_STATES = ['waiting', 'running', 'stopped', 'done', 'failed'] as const

/**
 * What can become of one row. held: somebody else had it locked for too long. notFound: it is no dead letter any more. raised: an entry of
 * the suppression list got a more severe reason or a later end.
 */
const OUTCOMES = {
  done: ['replayed', 'purged', 'added', 'raised', 'unchanged'],
  failed: ['payloadPurged', 'notFound', 'held', 'refused'],
}

/** By outcome, or by what was erased. */
export type JobCounts = Record<string, number>

export type JobProblem = { line: number; problem: string; rule?: CsvRule }

export type NewJob = {
  jobId: string
  kind: JobKindName
  input: object
  companyId: string | null
  requestedBy: string
  reason: string | null
  /** Listed by GET /admin/bulk-actions, and audited as one. */
  isBulkAction: boolean
  total: number
  /** Known before it begins: the refused lines of an import. */
  counts?: JobCounts
  problems?: JobProblem[]
}

/**
 * Once committed, it is carried out even if this process dies. What it is about (items, rows of the kind's own tables, audit entries) is
 * written in the same transaction.
 */
export async function submitJob(tx: Queryable, job: NewJob): Promise<void> {
  const { jobId, kind, input, companyId, requestedBy, isBulkAction, total, counts = {}, problems = [] } = job
  const reason = job.reason && maskSensitive(job.reason)
  const { failed } = sumOutcomes(counts)
  await sql(tx, 'submit-job')`
    insert into jobs (job_id, kind, input, company_id, requested_by, reason, is_bulk_action, total, failed, counts, problems)
     values (${jobId}, ${kind}, ${JSON.stringify(input)}, ${companyId}, ${requestedBy}, ${reason}, ${isBulkAction}, ${total}, ${failed},
       ${JSON.stringify(counts)}, ${JSON.stringify(problems)})`
  if (!isBulkAction) return
  const after = { kind, selection: input, total }
  const entry = { performedBy: requestedBy, action: 'STARTED', subjectType: 'bulk_action', subjectId: jobId } as const
  await writeAudit(tx, { ...entry, companyId, reason, after })
}

export type JobItem = { key: string; item?: object }

export async function addItems(tx: Queryable, jobId: string, items: JobItem[]): Promise<void> {
  if (items.length === 0) return
  await sql(tx, 'add-job-items')`
    insert into job_items (job_id, key, item)
     select ${jobId}, x.key, x.item from json_to_recordset(${JSON.stringify(items)}::json) as x(key text, item jsonb)`
}

/** Removes the next ones, in the order of their keys. `after` spares reading again what was removed before. */
export async function takeItems<Item>(tx: Queryable, jobId: string, limit: number, after = '') {
  return sql<{ key: string; item: Item }>(tx, 'take-job-items')`
    with taken as (
       delete from job_items where job_id = ${jobId}
         and key = any(array(select key from job_items where job_id = ${jobId} and key > ${after} order by key limit ${limit}))
       returning key, item
     )
     select key, item from taken order by key`
}

/**
 * more: there may be more to do now. soon: everything that is left is held by somebody else at this moment. later: what is left waits for
 * something that may take days.
 */
export type Batch = { counts: JobCounts; position: object; next: 'more' | 'soon' | 'later' | 'end' }

export type JobKind = {
  name: JobKindName
  /** One commit, together with what it answers: killed, it has done nothing. */
  nextBatch: (tx: Queryable, job: Job) => Promise<Batch>
  /** After so many errors in a row the job has failed. */
  maxErrors: number
}

/** So long housekeeping works on jobs, so that a process can stop in between. */
const WORK_MS = 1_000

type JobWatch = { log: Pick<Logger, 'error'>; onBatch?: (counts: JobCounts) => void; workMs?: number }

/** For housekeeping: one batch of each open job in turn, until the time is over or nothing is left to do now; several processes may. */
export async function carryOutJobs(pool: pg.Pool, kinds: JobKind[], watch: JobWatch): Promise<void> {
  const deadlineMs = performance.now() + (watch.workMs ?? WORK_MS)
  let open = await listOpenJobs(
    pool,
    kinds.map(kind => kind.name),
  )
  while (open.length > 0) {
    const unfinished: typeof open = []
    for (const job of open) {
      const kind = kinds.find(one => one.name === job.kind)!
      if ((await carryOutBatch(pool, job.jobId, kind, watch)) === 'more') unfinished.push(job)
      if (performance.now() >= deadlineMs) return
    }
    open = unfinished
  }
}

const PAUSE_MS = 200

type CarryOut = { isOver?: () => boolean; onProgress?: (done: number, total: number) => void }

/** Here and now, until it has ended, waits for something that may take days, or `isOver`. Then housekeeping goes on with it. */
export async function carryOutJob(pool: pg.Pool, jobId: string, kind: JobKind, options: CarryOut = {}): Promise<Job> {
  const { isOver = () => false, onProgress = () => {} } = options
  for (;;) {
    const next = isOver() ? 'later' : await carryOutBatch(pool, jobId, kind)
    const job = (await findJob(pool, jobId))!
    onProgress(job.done + job.failed, job.total)
    if (job.finishedAt !== null || next === 'later') return job
    if (next !== 'more') await sleep(PAUSE_MS)
  }
}

/** For a command. Ctrl-C stops the job after the batch under way; of a command that is killed, housekeeping carries out the rest. */
export async function carryOutOrStop(
  pool: pg.Pool,
  jobId: string,
  kind: JobKind,
  onProgress: CarryOut['onProgress'] & {},
): Promise<Job> {
  let stopping = false
  const stop = () => {
    stopping = true
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    const job = await carryOutJob(pool, jobId, kind, { isOver: () => stopping, onProgress })
    const ended = (stopping && (await endJob(pool, jobId, 'stopped'))) || job
    if (ended.state === 'done') return ended
    throw new CommandFailed(
      ended.state === 'stopped'
        ? `Stopped after ${ended.done} of ${ended.total}; they stay done.`
        : `Given up after ${ended.done} of ${ended.total}: ${ended.lastError}`,
    )
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}

async function carryOutBatch(pool: pg.Pool, jobId: string, kind: JobKind, watch?: JobWatch): Promise<Batch['next']> {
  try {
    const batch = await inTransaction(pool, tx => nextBatch(tx, jobId, kind))
    if (batch) watch?.onBatch?.(batch.counts)
    return batch?.next ?? 'soon'
  } catch (error) {
    // Lost infrastructure and conflicts pass by themselves: the next call tries again.
    if (error instanceof DatabaseUnavailable) throw error
    if (isPassingConflict(error)) return 'soon'
    watch?.log.error({ err: error, jobId }, 'A batch of a job failed; trying again')
    await recordError(pool, jobId, (error as Error).message, kind.maxErrors)
    return 'soon'
  }
}

async function nextBatch(tx: Queryable, jobId: string, kind: JobKind): Promise<Batch | null> {
  const job = await lockJob(tx, jobId)
  if (!job) return null
  const batch = await kind.nextBatch(tx, job)
  await recordBatch(tx, jobId, batch)
  if (batch.next === 'end') await endJob(tx, jobId, 'done')
  return batch
}

async function listOpenJobs(db: Queryable, kinds: JobKindName[], limit = 100) {
  return sql<{ jobId: string; kind: JobKindName }>(db, 'list-open-jobs')`
    select job_id, kind from jobs where finished_at is null and kind = any(${kinds}) order by created_at limit ${limit}`
}

/** Locked until the transaction ends. Null: it has ended, or another process is at it. */
async function lockJob(tx: Queryable, jobId: string): Promise<Job | null> {
  const [job] = await sql<Job>(tx, 'lock-job')`
    select ${JOB} from jobs where job_id = ${jobId} and finished_at is null for update skip locked`
  return job ?? null
}

async function recordBatch(tx: Queryable, jobId: string, { counts, position }: Batch): Promise<void> {
  const { done, failed } = sumOutcomes(counts)
  await sql(tx, 'record-job-batch')`
    update jobs j set state = 'running', started_at = coalesce(started_at, now()), updated_at = now(), errors = 0, last_error = null,
       position = ${JSON.stringify(position)}, done = done + ${done}, failed = failed + ${failed},
       total = greatest(total, done + failed + ${done + failed}),
       counts = j.counts || (select coalesce(jsonb_object_agg(key, coalesce((j.counts ->> key)::int, 0) + value::int), '{}')
         from jsonb_each_text(${JSON.stringify(counts)}::jsonb))
     where job_id = ${jobId}`
}

/** How many of these count as done, and how many as failed. */
function sumOutcomes(counts: JobCounts): { done: number; failed: number } {
  const sum = (outcomes: string[]) => outcomes.reduce((total, one) => total + (counts[one] ?? 0), 0)
  return { done: sum(OUTCOMES.done), failed: sum(OUTCOMES.failed) }
}

/** The batch was rolled back and is tried again. */
async function recordError(pool: pg.Pool, jobId: string, error: string, maxErrors: number): Promise<void> {
  await inTransaction(pool, async tx => {
    const [job] = await sql<{ errors: number }>(tx, 'record-job-error')`
      update jobs set errors = least(errors + 1, 1000), last_error = ${maskSensitive(error).slice(0, 500)}, updated_at = now()
       where job_id = ${jobId} and finished_at is null returning errors`
    if (job && job.errors >= maxErrors) await endJob(tx, jobId, 'failed')
  })
}

export type Job = Required<NewJob> & {
  state: (typeof JOB_STATES)[number]
  done: number
  failed: number
  /** Where the batch before has ended. */
  position: object
  lastError: string | null
  createdAt: string
  startedAt: string | null
  updatedAt: string
  finishedAt: string | null
}

const JOB = fragment`job_id, kind, input, company_id, requested_by, reason, is_bulk_action, state, total, done, failed, counts, problems, position,
  last_error, ${iso('created_at')} as "createdAt", ${iso('started_at')} as "startedAt", ${iso('updated_at')} as "updatedAt",
  ${iso('finished_at')} as "finishedAt"`

const AUDIT_ACTION = { done: 'FINISHED', stopped: 'STOPPED', failed: 'FAILED' } as const satisfies Record<
  string,
  AuditAction
>

/**
 * Takes the lock that each batch takes, so no batch is under way when this returns. Null: there is no such job, or it has ended. What was
 * counted at the beginning and never met by a job that is done had been replayed, purged or delivered by then.
 */
export async function endJob(
  db: Queryable,
  jobId: string,
  state: keyof typeof AUDIT_ACTION,
  endedBy: string | null = null,
): Promise<Job | null> {
  const [ended] = await sql<Job>(db, 'end-job')`
    with ended as (
       update jobs set state = ${state}, finished_at = now(), updated_at = now(),
         failed = case when ${state} = 'done' then total - done else failed end,
         counts = case when ${state} = 'done' and total > done + failed
           then counts || jsonb_build_object('notFound', coalesce((counts ->> 'notFound')::int, 0) + total - done - failed)
           else counts end
       where job_id = ${jobId} and finished_at is null returning *
     ), emptied as (
       delete from job_items i using ended where i.job_id = ended.job_id
     ), audited as (
       insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
       select 'bulk_action', job_id::text, company_id, ${AUDIT_ACTION[state]}, coalesce(${endedBy}, requested_by),
         jsonb_build_object('kind', kind, 'total', total, 'done', done, 'failed', failed, 'counts', counts)
           || case when state = 'failed' then jsonb_build_object('error', last_error) else '{}' end
       from ended where is_bulk_action
     )
     select ${JOB} from ended`
  return ended ?? null
}

export async function findJob(db: Queryable, jobId: string): Promise<Job | null> {
  const [row] = await sql<Job>(db, 'find-job')`select ${JOB} from jobs where job_id = ${jobId}`
  return row ?? null
}

/** Newest first. */
export async function listBulkActions(
  db: Queryable,
  { kind, open }: { kind: JobKindName | null; open: boolean },
  limit: number,
): Promise<Job[]> {
  return sql<Job>(db)`
    select ${JOB} from jobs where is_bulk_action and (${kind}::text is null or kind = ${kind}::text)
       ${open ? fragment`and finished_at is null` : fragment``}
     order by created_at desc, job_id desc limit ${limit}`
}

/** The newest jobs, as many as a view shows: older ones have ended long ago. */
const NEWEST = 50

/** When the last one ended. */
export async function readLastJobEnd(db: Queryable): Promise<string | null> {
  const [row] = await sql<{ at: string | null }>(db, 'read-last-job-end')`
    select max(finished_at)::text as at from (
       select finished_at from jobs order by created_at desc, job_id desc limit ${literal(NEWEST)}) newest`
  return row!.at
}
