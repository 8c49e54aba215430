import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { type Config, type Role, suppressionPolicy } from './config.ts'
import { keyRing } from './contracts/encryption.ts'
import { type Bell, hearBells, ringBell } from './db/bell.ts'
import { returnExpiredLeases } from './db/leases.ts'
import type { Database } from './db/pool.ts'
import { takeTokens } from './db/rate-buckets.ts'
import { addSendRequests } from './db/send-requests.ts'
import { buildApp } from './http/app.ts'
import { CannotListen } from './http/cannot-listen.ts'
import { KeyRegistry } from './http/key-registry.ts'
import { makeAccept } from './main-accept.ts'
import { countLogins } from './main-admin.ts'
import { makeEventsDoor } from './main-events.ts'
import { makeFeedback } from './main-feedback.ts'
import { makeLine } from './main-line.ts'
import { makeProviders } from './main-providers.ts'
import type { Storage } from './main-storage.ts'
import { makeCourier } from './main-webhooks.ts'
import { Batcher } from './pipeline/batcher.ts'
import { RequestCounts } from './pipeline/count-requests.ts'
import { startHousekeeping } from './pipeline/housekeeping.ts'
import { HtmlChecker } from './pipeline/html-check.ts'
import { within } from './pipeline/within.ts'

export const VERSION = '0.1.0'

/** How long a request under way may take once we are told to stop. */
const REQUEST_GRACE_MS = 5_000
/** How long a start that failed waits for what it had begun. */
const UNDO_MS = 10_000
/** How often the workers of other processes are woken at most. */
const RING_MS = 10

export type Gateway = { url: string; stop(): Promise<void> }

/** Builds everything and wires it. The only place that does. */
export async function startGateway(
  config: Config,
  storage: Storage,
  role: Role,
  log: Logger,
  providersOf: typeof makeProviders = makeProviders,
): Promise<Gateway> {
  const { db } = storage
  const html = new HtmlChecker(config.hashPepper)
  const ringer = randomUUID()
  let sending: Sending | null = null
  const bells: Record<Bell, () => void> = {
    email_ready: makeBell(db, 'email_ready', ringer, () => sending?.nudge(), log),
    webhook_ready: makeBell(db, 'webhook_ready', ringer, () => sending?.wakeCourier(), log),
  }
  let api: Awaited<ReturnType<typeof startApi>> | null = null
  const stop = async () => {
    await api?.stop()
    await sending?.stop()
    await html.close()
  }
  try {
    // Everything that can fail comes before the port is open: whoever is answered 202 meets a gateway that works.
    if (role !== 'api') sending = await makeSending(config, storage, html, ringer, log, providersOf)
    await sending?.prepare()
    if (role !== 'worker') api = await startApi(config, storage, html, bells, () => sending?.reported(), log)
    sending?.start()
  } catch (error) {
    // Nothing is left behind: neither an open port, nor a connection that keeps the process.
    const failed = (problem: unknown) => log.warn({ err: problem }, 'Could not stop what had been started')
    await within(UNDO_MS, stop().catch(failed))
    throw error
  }
  return { url: api?.url ?? '', stop }
}

/** What became ready wakes this process at once, and the others through Postgres, a hundred times a second at most. */
function makeBell(db: Database, bell: Bell, ringer: string, here: () => void, log: Logger): () => void {
  let ringing: NodeJS.Timeout | null = null
  return () => {
    here()
    ringing ??= setTimeout(() => {
      ringing = null
      ringBell(db.pool, bell, ringer).catch(error =>
        log.debug({ err: error }, 'Could not wake the other workers; they look by themselves'),
      )
    }, RING_MS)
    ringing.unref()
  }
}

type Sending = {
  nudge(): void
  reported(): void
  wakeCourier(): void
  /** All that needs the database. Takes no mail yet. */
  prepare(): Promise<void>
  /** Cannot fail. */
  start(): void
  stop(): Promise<void>
}

async function makeSending(
  config: Config,
  { db, url, alone }: Storage,
  html: HtmlChecker,
  ringer: string,
  log: Logger,
  providersOf: typeof makeProviders,
): Promise<Sending> {
  let nudge = () => {}
  const providers = await providersOf(config, db, () => nudge(), log)
  const courier = makeCourier(config, db, log)
  const feedback = makeFeedback(config, db, log)
  const { sent } = feedback
  const reported = () => feedback.nudge()
  const line = await makeLine({ config, db, providers, html, log, reported, sent, onSettled: () => courier.nudge() })
  nudge = () => line.nudge()
  const wakeCourier = () => courier.wake()
  const { recognising } = providers
  const graceSeconds = config.UNKNOWN_GRACE_SECONDS
  const retentionDays = { providerEvents: config.RETENTION_PROVIDER_EVENTS_DAYS }
  const stops: (() => unknown)[] = []
  return {
    nudge,
    reported,
    wakeCourier,
    async prepare() {
      await providers.start()
      if (alone) await returnExpiredLeases(db.hot, { all: true, recognising, graceSeconds })
      await line.prepare()
    },
    start() {
      stops.push(startHousekeeping(db.hot, { recognising, graceSeconds, retentionDays, nudge }, log))
      const rings = { email_ready: nudge, webhook_ready: wakeCourier }
      stops.push(hearBells(url, ringer, rings, error => log.debug({ err: error }, 'The bell was lost')))
      courier.start()
      line.start()
      feedback.start()
    },
    async stop() {
      await line.stop()
      await feedback.stop()
      // After those: what the last e-mails have to tell may go along.
      await courier.stop()
      for (const stop of stops) await stop()
      await providers.stop()
    },
  }
}

async function startApi(
  config: Config,
  { db, folder }: Storage,
  html: HtmlChecker,
  bells: Record<Bell, () => void>,
  onReported: () => void,
  log: Logger,
) {
  const events = makeEventsDoor(config, db, onReported, log)
  const keys = new KeyRegistry(db.pool)
  const logins = countLogins(db.pool, log)
  const counts = new RequestCounts(batch => addSendRequests(db.pool, batch), log)
  const app = await buildApp({
    db,
    folder,
    keys,
    pepper: config.hashPepper,
    providers: config.EMAIL_PROVIDER,
    accept: makeAccept(config, db, html, bells.email_ready, (...counted) => counts.count(...counted)),
    suppression: suppressionPolicy(config),
    events: events.deps,
    webhooks: {
      keys: keyRing(config.encryptionKeys),
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
      onEnqueued: bells.webhook_ready,
    },
    tokens: new Batcher({
      maxItems: 500,
      concurrency: 1,
      flush: (batch: Parameters<typeof takeTokens>[1]) => takeTokens(db.pool, batch),
    }),
    log,
    trustProxy: config.TRUST_PROXY,
    publicUrl: config.PUBLIC_URL,
    onLoginRefused: logins.refused,
    metricsToken: config.METRICS_TOKEN,
    version: VERSION,
  })
  const stop = async () => {
    // A client that never finishes its request is not waited for.
    const hangUp = setTimeout(() => app.server.closeAllConnections(), REQUEST_GRACE_MS)
    await app.close()
    clearTimeout(hangUp)
    await keys.close()
    await logins.close()
    await counts.close()
    await events.close()
  }
  try {
    return { url: await app.listen({ host: config.HOST, port: config.PORT }), stop }
  } catch (error) {
    await stop()
    throw new CannotListen((error as Error).message, { cause: error })
  }
}
