import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Api, ApiParts } from './compose/api.ts'
import { makeProviders } from './compose/providers.ts'
import { makeSignals, notifier } from './compose/signals.ts'
import type { Storage } from './compose/storage.ts'
import type { Worker, WorkerParts } from './compose/worker.ts'
import type { Config, Role } from './config.ts'
import { finishedWithin } from './runtime/finished-within.ts'
import { HtmlChecker } from './sending/html-check.ts'

export const VERSION = '0.1.0'

/** How long a start that failed waits for what it had begun. */
const UNDO_MS = 10_000

/** `smtpPort`: null when the gateway does not listen for SMTP. */
export type Gateway = { url: string; smtpPort: number | null; stop(): Promise<void> }

/** Starts everything in order; `stop` ends it in the reverse order. */
export async function startGateway(
  config: Config,
  storage: Storage,
  role: Role,
  log: Logger,
  providersOf: typeof makeProviders = makeProviders,
): Promise<Gateway> {
  const { db } = storage
  const senderId = randomUUID()
  const signals = makeSignals()
  const html = new HtmlChecker(config.hashPepper)
  const stops: (() => Promise<void>)[] = [() => html.close()]
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart()
  }

  try {
    // Everything that can fail comes before the port is open: whoever is answered 202 meets a gateway that works.
    const worker =
      role === 'api' ? null : await makeWorker({ config, storage, html, signals, senderId, providersOf, log })
    if (worker) {
      stops.push(() => worker.stop())
      await worker.prepare()
    }

    const api =
      role === 'worker'
        ? null
        : await openApi({
            config,
            storage,
            html,
            onAccepted: notifier(db, 'email_ready', senderId, signals.emailsReady, log),
            onWebhooksEnqueued: notifier(db, 'webhook_ready', senderId, signals.webhooksReady, log),
            onEventsReceived: () => signals.eventsReceived.wake(),
            version: VERSION,
            log,
          })
    if (api) stops.push(() => api.stop())

    worker?.start()
    return { url: api?.url ?? '', smtpPort: api?.smtpPort ?? null, stop }
  } catch (error) {
    // Nothing is left behind: neither an open port, nor a connection that keeps the process alive.
    const notStopped = (problem: unknown) => log.warn({ err: problem }, 'Could not stop what had been started')
    await finishedWithin(UNDO_MS, stop().catch(notStopped))
    throw error
  }
}

// Each is loaded where it runs: a worker without the HTTP server starts in half the time and needs 30 MB less.
async function makeWorker(parts: WorkerParts): Promise<Worker> {
  const { composeWorker } = await import('./compose/worker.ts')
  return composeWorker(parts)
}

async function openApi(parts: ApiParts): Promise<Api> {
  const { startApi } = await import('./compose/api.ts')
  return startApi(parts)
}
