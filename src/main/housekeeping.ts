import type pg from 'pg'
import type { Logger } from 'pino'
import { purgeAudit } from '../audit/audit.ts'
import { rollUpStatistics } from '../companies/statistics.ts'
import { purgeJobs, replayJobs } from '../dead-letters/jobs.ts'
import { tellOfDeadLetters } from '../dead-letters/notices.ts'
import { CHECK_DOMAINS_EVERY_MS, checkPendingDomains, type DomainDeps } from '../domains/domains.ts'
import { recordHousekeeping } from '../figures/system.ts'
import { carryOutJobs } from '../jobs/jobs.ts'
import { countLedger } from '../ledger/count.ts'
import { purgeOldPayloads } from '../outbox/dead-letters.ts'
import { expireWaitingEmails } from '../outbox/expiry.ts'
import { deleteExpiredKeys } from '../outbox/idempotency-keys.ts'
import { returnExpiredLeases } from '../outbox/leases.ts'
import { recoverOrphans } from '../outbox/orphans.ts'
import { purgeProviderEvents } from '../outbox/provider-events.ts'
import { type DayRetention, dropOldDays } from '../outbox/retention.ts'
import { erasureJobs } from '../people/erase.ts'
import { failureLog, logExpired, logGivenUp, logLosses, logLost } from '../pipeline/housekeeping/log.ts'
import { resolveUnknownSends } from '../pipeline/housekeeping/unknown.ts'
import { periodically } from '../platform/periodic-task.ts'
import { ensurePartitions } from '../platform/postgres/partitions.ts'
import { type Queryable, sql } from '../platform/postgres/query.ts'
import type { EmailLog } from '../platform/telemetry/email-log.ts'
import { trimCaptured } from '../providers/capture/inbox.ts'
import { importJobs } from '../suppression/import.ts'
import { expireSuppressions } from '../suppression/list.ts'
import { failUndeliverable, purgeOldDeliveries } from '../webhooks/deliveries.ts'

type HousekeepingOptions = {
  /** Names of the providers that recognise an attempt id: the same request again cannot send twice. */
  idempotentProviders: string[]
  graceSeconds: number
  retentionDays: DayRetention & { providerEvents: number; deadLetters: number; webhooks: number; audit: number }
  emailsReady: { wake(): void }
  /** For work of several statements. */
  pool: pg.Pool
  emailLog: EmailLog
  domains: DomainDeps
}

type TaskOptions = HousekeepingOptions & { isStopping: () => boolean }

type Task = {
  name: string
  everyMs: number
  /** See pausedAfterFailure. */
  pausesAfterFailure?: boolean
  run: (db: Queryable, options: TaskOptions, log: Logger) => Promise<unknown>
}

/** A deleted e-mail is named within a minute: Postgres counts deletions ten seconds late at most. */
const LEDGER_EVERY_MS = 15_000
/** One day of e-mails at least, even if that takes longer; more of them while there is time. */
const LEDGER_MS = 500

/** Each task is safe to run in several processes at once, and runs once at a time in each. */
const TASKS: Task[] = [
  // While the database was away, living workers could not renew their leases either: they do so first.
  { name: 'return-expired-leases', everyMs: 5_000, pausesAfterFailure: true, run: returnLeases },
  { name: 'resolve-unknown-sends', everyMs: 1_000, run: resolveUnknown },
  // Each day is searched once an hour, by whichever process comes first.
  { name: 'recover-orphans', everyMs: 60_000, run: requeueOrphans },
  { name: 'expire-waiting-emails', everyMs: 60_000, run: expireEmails },
  { name: 'delete-expired-idempotency-keys', everyMs: 60_000, run: deleteExpiredKeys },
  { name: 'purge-old-payloads', everyMs: 3_600_000, run: olderThan('deadLetters', purgeOldPayloads) },
  { name: 'expire-suppressions', everyMs: 60_000, run: db => expireSuppressions(db) },
  { name: 'ensure-partitions', everyMs: 3_600_000, run: db => ensurePartitions(db) },
  { name: 'purge-provider-events', everyMs: 600_000, run: purgeEvents },
  { name: 'roll-up-statistics', everyMs: 30_000, run: db => rollUpStatistics(db) },
  { name: 'count-ledger', everyMs: LEDGER_EVERY_MS, run: countAndReport },
  { name: 'drop-old-days', everyMs: 600_000, run: dropDays },
  { name: 'purge-audit', everyMs: 3_600_000, run: olderThan('audit', purgeAudit) },
  { name: 'fail-undeliverable-webhooks', everyMs: 2_000, run: db => failUndeliverable(db) },
  { name: 'purge-old-webhooks', everyMs: 60_000, run: olderThan('webhooks', purgeOldDeliveries) },
  { name: 'tell-of-dead-letters', everyMs: 60_000, run: (_db, { pool }, log) => tellOfDeadLetters(pool, log) },
  {
    name: 'check-pending-domains',
    everyMs: CHECK_DOMAINS_EVERY_MS,
    run: (_db, { domains }, log) => checkPendingDomains(domains, log),
  },
  { name: 'trim-captured', everyMs: 60_000, run: trimCaptured },
  {
    name: 'continue-erasures',
    everyMs: 2_000,
    run: (_db, { pool }, log) => carryOutJobs(pool, [erasureJobs], { log }),
  },
  {
    name: 'carry-out-bulk-actions',
    everyMs: 500,
    run: (_db, { pool, emailsReady }, log) => {
      const onBatch = ({ replayed = 0 }) => replayed > 0 && emailsReady.wake()
      return carryOutJobs(pool, [replayJobs, purgeJobs, importJobs], { log, onBatch })
    },
  },
]

const RECORD_EVERY_MS = 5_000

/** Starts all periodic work that repairs and tidies up. Returns a function that stops it. */
export function startHousekeeping(db: Queryable, options: HousekeepingOptions, log: Logger): () => Promise<void> {
  let stopping = false
  const taskOptions = { ...options, isStopping: () => stopping }
  const succeeded = new Set<Task>()
  const failures = failureLog(log, 'Housekeeping')
  const failed = (task: string) => (error: unknown) => failures.failed(task, error)
  const stops = TASKS.map(task => {
    const { name, everyMs, pausesAfterFailure, run } = task
    const runAndNote = async () => {
      await run(db, taskOptions, log)
      succeeded.add(task)
      failures.succeeded()
    }
    return periodically(everyMs, pausesAfterFailure ? pausedAfterFailure(db, runAndNote) : runAndNote, failed(name))
  })
  stops.push(periodically(RECORD_EVERY_MS, () => recordSucceeded(db, succeeded), failed('record-housekeeping')))
  return async () => {
    stopping = true
    await Promise.all(stops.map(stop => stop()))
  }
}

/** For housekeeping_last_run_timestamp_seconds: one write in some seconds, however often the tasks run. */
async function recordSucceeded(db: Queryable, succeeded: Set<Task>): Promise<void> {
  if (succeeded.size === 0) return
  const tasks = [...succeeded]
  // What succeeds while these are written counts for the next time.
  succeeded.clear()
  const runs = tasks.map(({ name, everyMs }) => ({ task: name, everySeconds: everyMs / 1000 }))
  await recordHousekeeping(db, runs)
}

/** After a failure, leaves out one run once the database is back. */
export function pausedAfterFailure(db: Queryable, task: () => Promise<unknown>): () => Promise<unknown> {
  let lastFailed = false
  return async () => {
    try {
      // A round that only asks whether the database is back. The next one runs.
      if (lastFailed) await sql(db, 'ping')`select 1`
      else await task()
      lastFailed = false
    } catch (error) {
      lastFailed = true
      throw error
    }
  }
}

async function returnLeases(db: Queryable, options: HousekeepingOptions) {
  const { idempotentProviders, graceSeconds, emailsReady, emailLog } = options
  const returned = await returnExpiredLeases(db, { all: false, idempotentProviders, graceSeconds })
  if (returned.unstarted + returned.notTaken > 0) emailsReady.wake()
  await logLost(db, returned, emailLog)
}

async function resolveUnknown(db: Queryable, options: HousekeepingOptions): Promise<void> {
  const { idempotentProviders, emailsReady, emailLog } = options
  const onGivenUp = (outboxIds: string[]) => logGivenUp(db, outboxIds, emailLog)
  if ((await resolveUnknownSends(db, idempotentProviders, onGivenUp)) > 0) emailsReady.wake()
}

async function expireEmails(db: Queryable, { emailLog }: HousekeepingOptions): Promise<void> {
  await logExpired(db, await expireWaitingEmails(db), emailLog)
}

/** The most orphans that one log line names; `email explain` says more. */
const MAX_LOGGED = 20

async function requeueOrphans(db: Queryable, { graceSeconds }: HousekeepingOptions, log: Logger): Promise<void> {
  const orphans = await recoverOrphans(db, graceSeconds)
  const count = orphans.length
  if (count === 0) return
  log.error(
    { count, orphans: orphans.slice(0, MAX_LOGGED) },
    `Requeued ${count} orphaned ${count === 1 ? 'e-mail' : 'e-mails'} (no lease, not ready, not scheduled); this is a bug, please report it`,
  )
}

async function countAndReport(_db: Queryable, { pool, isStopping }: TaskOptions, log: Logger): Promise<void> {
  await countLedger(pool, { maxMs: LEDGER_MS, isStopping })
  await logLosses(pool, log)
}

function olderThan(
  kind: 'deadLetters' | 'webhooks' | 'audit',
  purge: (db: Queryable, days: number) => Promise<unknown>,
) {
  return (db: Queryable, { retentionDays }: HousekeepingOptions) => purge(db, retentionDays[kind])
}

async function dropDays(_db: Queryable, { pool, retentionDays }: HousekeepingOptions, log: Logger): Promise<void> {
  for (const { kind, day } of await dropOldDays(pool, retentionDays))
    log.info({ kind, day }, `Dropped ${kind} of ${day}, as RETENTION_${kind.toUpperCase()}_DAYS says`)
}

const PURGE_BATCH = 5_000

async function purgeEvents(db: Queryable, { retentionDays }: HousekeepingOptions): Promise<void> {
  let purged: number
  do purged = await purgeProviderEvents(db, retentionDays.providerEvents, PURGE_BATCH)
  while (purged === PURGE_BATCH)
}
