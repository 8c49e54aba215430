import type { Logger } from 'pino'
import { trimCaptured } from '../db/capture-inbox.ts'
import { purgeReputation } from '../db/companies/reputation.ts'
import { purgeProviderEvents } from '../db/feedback/provider-events.ts'
import { ping } from '../db/health.ts'
import { purgeOldPayloads } from '../db/outbox/dead-letters-purge.ts'
import { expireWaitingEmails } from '../db/outbox/expiry.ts'
import { deleteExpiredKeys } from '../db/outbox/idempotency-keys.ts'
import { returnExpiredLeases } from '../db/outbox/leases.ts'
import { recoverOrphans } from '../db/outbox/orphans.ts'
import { ensurePartitions } from '../db/outbox/partitions.ts'
import type { Queryable } from '../db/pool.ts'
import { expireSuppressions } from '../db/suppression/ends.ts'
import { failUndeliverable, purgeOldDeliveries } from '../db/webhooks/deliveries.ts'
import { periodically } from '../runtime/periodic-task.ts'
import { resolveUnknownSends } from '../sending/resolve-unknown.ts'

export type HousekeepingOptions = {
  /** Providers that recognise an attempt when asked again. */
  recognising: string[]
  graceSeconds: number
  retentionDays: { providerEvents: number }
  /** Something may have become ready. */
  nudge: () => void
}

type Chore = {
  name: string
  everyMs: number
  /** After a failure, one round is left out once the database is back. */
  waitsAfterFailure?: boolean
  run: (db: Queryable, options: HousekeepingOptions, log: Logger) => Promise<unknown>
}

const CHORES: Chore[] = [
  // While the database was away, living workers could not renew their leases either: they do it first.
  { name: 'return-expired-leases', everyMs: 5_000, waitsAfterFailure: true, run: returnLeases },
  { name: 'resolve-unknown-sends', everyMs: 1_000, run: resolveUnknown },
  // Soon after the start; each day is searched once an hour, by whichever process comes first.
  { name: 'take-up-orphans', everyMs: 60_000, run: lookForStrays },
  { name: 'expire-waiting-emails', everyMs: 60_000, run: db => expireWaitingEmails(db) },
  { name: 'delete-expired-idempotency-keys', everyMs: 60_000, run: deleteExpiredKeys },
  { name: 'purge-old-payloads', everyMs: 3_600_000, run: db => purgeOldPayloads(db) },
  { name: 'expire-suppressions', everyMs: 60_000, run: db => expireSuppressions(db) },
  { name: 'ensure-partitions', everyMs: 3_600_000, run: db => ensurePartitions(db) },
  { name: 'purge-provider-events', everyMs: 600_000, run: purgeEvents },
  { name: 'purge-reputation', everyMs: 3_600_000, run: purgeReputation },
  { name: 'fail-undeliverable-webhooks', everyMs: 2_000, run: db => failUndeliverable(db) },
  { name: 'purge-old-webhooks', everyMs: 60_000, run: db => purgeOldDeliveries(db) },
  { name: 'trim-captured', everyMs: 60_000, run: trimCaptured },
]

async function returnLeases(db: Queryable, { recognising, graceSeconds, nudge }: HousekeepingOptions): Promise<void> {
  const returned = await returnExpiredLeases(db, { all: false, recognising, graceSeconds })
  if (returned.unstarted + returned.undelivered > 0) nudge()
}

async function resolveUnknown(db: Queryable, { recognising, nudge }: HousekeepingOptions): Promise<void> {
  if ((await resolveUnknownSends(db, recognising)) > 0) nudge()
}

/** In the log; `email explain` tells more of each. */
const STRAYS_NAMED = 20

async function lookForStrays(db: Queryable, { graceSeconds }: HousekeepingOptions, log: Logger): Promise<void> {
  const orphans = await recoverOrphans(db, graceSeconds)
  if (orphans.length === 0) return
  const facts = { count: orphans.length, orphans: orphans.slice(0, STRAYS_NAMED) }
  log.error(facts, 'E-mails were in nobody’s hands and are taken up again; this should not happen: please report it')
}

const PURGE_BITE = 5_000

async function purgeEvents(db: Queryable, { retentionDays }: HousekeepingOptions): Promise<void> {
  while ((await purgeProviderEvents(db, retentionDays.providerEvents, PURGE_BITE)) === PURGE_BITE);
}

/** What keeps the line clean while it works. Each chore is safe to run in several processes at once, and runs once at a time in each. */
export function startHousekeeping(db: Queryable, options: HousekeepingOptions, log: Logger): () => void {
  const stops = CHORES.map(({ name, everyMs, waitsAfterFailure, run }) =>
    periodically(
      everyMs,
      waitsAfterFailure ? waitingAfterFailure(db, () => run(db, options, log)) : () => run(db, options, log),
      error => log.warn({ err: error, chore: name }, 'Housekeeping failed; it is tried again'),
    ),
  )
  return () => stops.forEach(stop => void stop())
}

export function waitingAfterFailure(db: Queryable, run: () => Promise<unknown>): () => Promise<unknown> {
  let failed = false
  return async () => {
    const wait = failed
    failed = true
    await (wait ? ping(db) : run())
    failed = false
  }
}
