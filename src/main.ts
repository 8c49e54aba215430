import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { makeAccept } from './compose/accept.ts'
import { countLogins } from './compose/admin-logins.ts'
import { makeFeedback } from './compose/feedback.ts'
import { makeEventsDoor } from './compose/provider-events.ts'
import { makeProviders } from './compose/providers.ts'
import { makeLine } from './compose/sending.ts'
import type { Storage } from './compose/storage.ts'
import { composeWebhooks } from './compose/webhooks.ts'
import { type Config, type Role, suppressionPolicy } from './config.ts'
import { keyRing } from './contracts/encryption.ts'
import { takeTokens } from './db/companies/rate-buckets.ts'
import { addSendRequests } from './db/companies/send-requests.ts'
import { type Channel, listenForNotifications, notifyProcesses } from './db/notifications.ts'
import { returnExpiredLeases } from './db/outbox/leases.ts'
import type { Database } from './db/pool.ts'
import { buildApp } from './http/app.ts'
import { CannotListen } from './http/cannot-listen.ts'
import { KeyRegistry } from './http/key-registry.ts'
import { RequestCounts } from './http/request-counts.ts'
import { startHousekeeping } from './pipeline/housekeeping.ts'
import { Batcher } from './runtime/batcher.ts'
import { finishedWithin } from './runtime/finished-within.ts'
import { HtmlChecker } from './sending/html-check.ts'

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
  const sender = randomUUID()
  let sending: Sending | null = null
  const notifiers: Record<Channel, () => void> = {
    email_ready: makeNotifier(db, 'email_ready', sender, () => sending?.nudge(), log),
    webhook_ready: makeNotifier(db, 'webhook_ready', sender, () => sending?.wakeDispatcher(), log),
  }
  let api: Awaited<ReturnType<typeof startApi>> | null = null
  const stop = async () => {
    await api?.stop()
    await sending?.stop()
    await html.close()
  }
  try {
    // Everything that can fail comes before the port is open: whoever is answered 202 meets a gateway that works.
    if (role !== 'api') sending = await makeSending(config, storage, html, sender, log, providersOf)
    await sending?.prepare()
    if (role !== 'worker') api = await startApi(config, storage, html, notifiers, () => sending?.reported(), log)
    sending?.start()
  } catch (error) {
    // Nothing is left behind: neither an open port, nor a connection that keeps the process.
    const failed = (problem: unknown) => log.warn({ err: problem }, 'Could not stop what had been started')
    await finishedWithin(UNDO_MS, stop().catch(failed))
    throw error
  }
  return { url: api?.url ?? '', stop }
}

/** What became ready wakes this process at once, and the others through Postgres, a hundred times a second at most. */
function makeNotifier(db: Database, channel: Channel, sender: string, here: () => void, log: Logger): () => void {
  let ringing: NodeJS.Timeout | null = null
  return () => {
    here()
    ringing ??= setTimeout(() => {
      ringing = null
      notifyProcesses(db.pool, channel, sender).catch(error =>
        log.debug({ err: error }, 'Could not wake the other workers; they look by themselves'),
      )
    }, RING_MS)
    ringing.unref()
  }
}

type Sending = {
  nudge(): void
  reported(): void
  wakeDispatcher(): void
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
  sender: string,
  log: Logger,
  providersOf: typeof makeProviders,
): Promise<Sending> {
  let nudge = () => {}
  const providers = await providersOf(config, db, () => nudge(), log)
  const dispatcher = composeWebhooks(config, db, log)
  const feedback = makeFeedback(config, db, log)
  const { sent } = feedback
  const reported = () => feedback.nudge()
  const line = await makeLine({ config, db, providers, html, log, reported, sent, onSettled: () => dispatcher.nudge() })
  nudge = () => line.nudge()
  const wakeDispatcher = () => dispatcher.wake()
  const { recognising } = providers
  const graceSeconds = config.UNKNOWN_GRACE_SECONDS
  const retentionDays = { providerEvents: config.RETENTION_PROVIDER_EVENTS_DAYS }
  const stops: (() => unknown)[] = []
  return {
    nudge,
    reported,
    wakeDispatcher,
    async prepare() {
      await providers.start()
      if (alone) await returnExpiredLeases(db.hot, { all: true, recognising, graceSeconds })
      await line.prepare()
    },
    start() {
      stops.push(startHousekeeping(db.hot, { recognising, graceSeconds, retentionDays, nudge }, log))
      const rings = { email_ready: nudge, webhook_ready: wakeDispatcher }
      stops.push(listenForNotifications(url, sender, rings, error => log.debug({ err: error }, 'The channel was lost')))
      dispatcher.start()
      line.start()
      feedback.start()
    },
    async stop() {
      await line.stop()
      await feedback.stop()
      // After those: what the last e-mails have to tell may go along.
      await dispatcher.stop()
      for (const stop of stops) await stop()
      await providers.stop()
    },
  }
}

async function startApi(
  config: Config,
  { db, folder }: Storage,
  html: HtmlChecker,
  notifiers: Record<Channel, () => void>,
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
    accept: makeAccept(config, db, html, notifiers.email_ready, (...counted) => counts.count(...counted)),
    suppression: suppressionPolicy(config),
    events: events.deps,
    webhooks: {
      keys: keyRing(config.encryptionKeys),
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
      onEnqueued: notifiers.webhook_ready,
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
