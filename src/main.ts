import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { type MailAddress, parseAddress } from './contracts/addresses.ts'
import { keyRing } from './contracts/encryption.ts'
import { type AcceptUnit, acceptUnits, type Draft, type UnitOutcome } from './db/accept.ts'
import { putCaptured } from './db/capture-inbox.ts'
import { openEmbeddedPostgres } from './db/embedded/index.ts'
import { returnExpiredLeases } from './db/leases.ts'
import { type AttemptStart, type Settlement, settleAttempts, startAttempts } from './db/line.ts'
import { migrate } from './db/migrate.ts'
import { ensurePartitions } from './db/partitions.ts'
import { type Database, openDatabase, together } from './db/pool.ts'
import { takeTokens } from './db/rate-buckets.ts'
import { buildApp } from './http/app.ts'
import { KeyRegistry } from './http/key-registry.ts'
import { DirectLane } from './lanes/direct.ts'
import type { AcceptDeps } from './pipeline/accept-email.ts'
import { attemptEmail, type Received } from './pipeline/attempt-email.ts'
import { Batcher } from './pipeline/batcher.ts'
import { claimFairly } from './pipeline/claim-fairly.ts'
import { startHousekeeping } from './pipeline/housekeeping.ts'
import { HtmlChecker } from './pipeline/html-check.ts'
import { recordFeedback } from './pipeline/record-feedback.ts'
import { type CaptureItem, captureProvider } from './providers/capture.ts'

export const VERSION = '0.1.0'
export const ROLES = ['all', 'api', 'worker'] as const
export type Role = (typeof ROLES)[number]

/**
 * Accepts weigh one each, and one more per 16 KB. One flush at a time makes fuller batches (51 µs of Postgres an e-mail
 * instead of 67); a second one pays when a hundred are waiting, as with requests of a hundred, and those are served best
 * in large flushes (25 k/s in flushes of 512, 30 k/s in flushes of 2048).
 */
const ACCEPT_BATCH = { maxItems: 128, concurrency: 2, maxWeight: 2048, worthAnother: 100 }
const WEIGHT_BYTES = 16 * 1024
const LINE_BATCH = { maxItems: 256, concurrency: 2 }
/** How long a request under way may take once we are told to stop. */
const REQUEST_GRACE_MS = 5_000
/** The line looks for due mail this often when nobody calls. */
const IDLE_MS = 250

export type Storage = { db: Database; url: string; where: string; alone: boolean; close(): Promise<void> }

export type StorageOptions = {
  use: 'gateway' | 'command'
  say: (line: string) => void
  /** The embedded server is gone for good, or another gateway has it. */
  onLost: (error: Error) => void
  log: Logger
}

/** Postgres, embedded or given; migrated, with its partitions. The same from here on. */
export async function openStorage(config: Config, { use, say, onLost, log }: StorageOptions): Promise<Storage> {
  const embedded = config.DATABASE_URL
    ? null
    : await openEmbeddedPostgres({ dataDir: config.dataDir, use, say, onLost })
  const url = config.DATABASE_URL ?? embedded!.url
  const db = openDatabase(url, error => log.warn({ err: error }, 'A database connection was lost'))
  const close = async () => {
    await db.close()
    await embedded?.close()
  }
  try {
    const applied = await migrate(url)
    if (applied.length > 0) say(`Migrations applied: ${applied.join(', ')}`)
    await ensurePartitions(db.pool)
  } catch (error) {
    await close()
    throw error
  }
  const where = embedded
    ? `embedded Postgres in ${embedded.directory}, port ${embedded.port}`
    : `Postgres at ${hostOf(url)}`
  return { db, url, where, alone: embedded !== null, close }
}

function hostOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

/** What accepting needs, also without HTTP (`email-gateway send`). */
export function makeAccept(config: Config, db: Database, html: HtmlChecker, onAccepted: () => void): AcceptDeps {
  const units = new Batcher<AcceptUnit, UnitOutcome>({
    ...ACCEPT_BATCH,
    flush: batch => acceptUnits(db.hot, batch),
    weigh: unit => unit.drafts.reduce((sum, draft) => sum + 1 + Math.floor(draftBytes(draft) / WEIGHT_BYTES), 0),
  })
  return {
    units,
    html,
    keys: keyRing(config.encryptionKeys),
    pepper: config.hashPepper,
    defaultFrom: senderAddress(config.EMAIL_FROM),
    defaultRetryPolicy: config.RETRY_POLICY,
    captureOnly: config.EMAIL_PROVIDER === 'capture',
    now: () => new Date(),
    onAccepted,
  }
}

function draftBytes(draft: Draft): number {
  const content = (draft.html?.length ?? 0) + (draft.text?.length ?? 0)
  return draft.attachments.reduce((sum, file) => sum + file.base64.length, content)
}

function senderAddress(text: string): MailAddress {
  const parsed = parseAddress(text)
  if (!parsed.ok) throw new Error('EMAIL_FROM was checked by config.ts')
  return parsed.value
}

function makeLane(config: Config, db: Database, html: HtmlChecker, log: Logger): DirectLane<Received> {
  const starts = new Batcher({
    ...LINE_BATCH,
    flush: (batch: AttemptStart[]) => together(batch, some => startAttempts(db.hot, some)),
  })
  const settlements = new Batcher({
    ...LINE_BATCH,
    flush: (batch: Settlement[]) => together(batch, some => settleAttempts(db.hot, some)),
  })
  const captures = new Batcher({
    ...LINE_BATCH,
    flush: (batch: CaptureItem[]) => together(batch, some => putCaptured(db.hot, some)),
  })
  const capture = captureProvider(item => captures.add(item))
  const claim = {
    perTurn: config.MAX_JOBS_PER_TENANT_BATCH,
    holder: `${hostname()}:${process.pid}`,
    leaseSeconds: config.LEASE_SECONDS,
  }
  const attempt = {
    starts,
    settlements,
    // A test key's mail never leaves the gateway; this version has nothing else to send it with.
    providerFor: () => capture,
    html,
    recordFeedback: recordFeedback.bind(null, db.hot),
    random: Math.random,
    nowMs: () => performance.now(),
    log,
  }
  return new DirectLane({
    claim: size => claimFairly(db.hot, size, claim),
    work: received => attemptEmail(received, attempt),
    concurrency: config.WORKER_CONCURRENCY,
    renewEveryMs: (config.LEASE_SECONDS * 1000) / 3,
    idleMs: IDLE_MS,
    log,
  })
}

export type Gateway = { url: string; stop(): Promise<void> }

/** Builds everything and wires it. The only place that does. */
export async function startGateway(config: Config, storage: Storage, role: Role, log: Logger): Promise<Gateway> {
  const { db } = storage
  const html = new HtmlChecker()
  const lane = role === 'api' ? null : makeLane(config, db, html, log)
  // The step that can fail comes first: a taken port leaves nothing behind.
  const api = role === 'worker' ? null : await startApi(config, db, html, () => lane?.nudge(), log)
  if (storage.alone && lane) await returnExpiredLeases(db.hot, true)
  const stopHousekeeping = lane ? startHousekeeping(db.hot, log) : () => {}
  lane?.start()
  return {
    url: api?.url ?? '',
    async stop() {
      await api?.stop()
      stopHousekeeping()
      await lane?.stop()
      await html.close()
    },
  }
}

/** HOST or PORT cannot be had. */
export class CannotListen extends Error {
  override name = 'CannotListen'
}

async function startApi(config: Config, db: Database, html: HtmlChecker, onAccepted: () => void, log: Logger) {
  const keys = new KeyRegistry(db.pool)
  const app = await buildApp({
    db,
    keys,
    pepper: config.hashPepper,
    accept: makeAccept(config, db, html, onAccepted),
    tokens: new Batcher({
      maxItems: 500,
      concurrency: 1,
      flush: (batch: Parameters<typeof takeTokens>[1]) => takeTokens(db.pool, batch),
    }),
    log,
    trustProxy: config.TRUST_PROXY,
    publicUrl: config.PUBLIC_URL,
    version: VERSION,
  })
  const stop = async () => {
    // A client that never finishes its request is not waited for.
    const hangUp = setTimeout(() => app.server.closeAllConnections(), REQUEST_GRACE_MS)
    await app.close()
    clearTimeout(hangUp)
    await keys.close()
  }
  try {
    return { url: await app.listen({ host: config.HOST, port: config.PORT }), stop }
  } catch (error) {
    await stop()
    throw new CannotListen((error as Error).message, { cause: error })
  }
}
