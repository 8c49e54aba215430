import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Storage } from './console/storage.ts'
import { composeMetrics } from './figures/metrics.ts'
import type { Api, ApiParts } from './main/api.ts'
import type { MetricsServer, startMetricsServer } from './main/metrics-server.ts'
import { makeSignals, notifier } from './main/signals.ts'
import type { Worker, WorkerParts } from './main/worker.ts'
import { HtmlChecker } from './platform/html/check.ts'
import { finishedWithin } from './platform/sleep.ts'
import { ProcessFigures } from './platform/telemetry/process-figures.ts'
import { startTracing } from './platform/telemetry/tracing.ts'
import { programVersion } from './platform/version.ts'
import { makeProviders } from './providers/providers.ts'
import type { Config, Role } from './settings/config.ts'

export const VERSION = programVersion()

/** How long a start that failed waits for what it had begun. */
const UNDO_MS = 10_000

/** `smtpPort`, `metricsUrl`: null when the gateway does not listen for SMTP, or on METRICS_PORT. */
export type Gateway = { url: string; smtpPort: number | null; metricsUrl: string | null; stop(): Promise<void> }

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
  const html = new HtmlChecker(config.hashPepper, config.LINK_SCHEMES)
  const tracing = await startTracing(config, VERSION, log)
  const { short, pool, webhooks, sending } = db
  // `hot` is the released label of the metrics about this pool.
  const figures = new ProcessFigures({ version: VERSION, role }, { hot: short, pool, webhooks, ...sending })
  const stops: (() => Promise<void> | void)[] = [() => tracing.stop(), () => html.close(), () => figures.close()]
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart()
  }

  try {
    // Everything that can fail comes before the port is open: whoever is answered 202 meets a gateway that works.
    const worker =
      role === 'api'
        ? null
        : await makeWorker({ config, storage, html, signals, senderId, providersOf, tracing, figures, log })
    if (worker) {
      stops.push(() => worker.stop())
      await worker.prepare()
    }

    const { metrics, close } = await composeMetrics(config, db, figures)
    stops.push(close)
    const metricsServer = await openMetrics(config, storage, metrics, log)
    if (metricsServer) stops.push(() => metricsServer.stop())
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
            metrics,
            figures,
            version: VERSION,
            tracing,
            log,
          })
    if (api) stops.push(() => api.stop())

    worker?.start()
    return { url: api?.url ?? '', smtpPort: api?.smtpPort ?? null, metricsUrl: metricsServer?.url ?? null, stop }
  } catch (error) {
    // Nothing is left behind: neither an open port, nor a connection that keeps the process alive.
    const notStopped = (problem: unknown) => log.warn({ err: problem }, 'Could not stop what had been started')
    await finishedWithin(UNDO_MS, stop().catch(notStopped))
    throw error
  }
}

// Each is loaded where it runs: a worker without the HTTP server starts in half the time and needs 30 MB less.
async function makeWorker(parts: WorkerParts): Promise<Worker> {
  const { composeWorker } = await import('./main/worker.ts')
  return composeWorker(parts)
}

async function openApi(parts: ApiParts): Promise<Api> {
  const { startApi } = await import('./main/api.ts')
  return startApi(parts)
}

async function openMetrics(...args: Parameters<typeof startMetricsServer>): Promise<MetricsServer | null> {
  if (args[0].METRICS_PORT === undefined) return null
  const { startMetricsServer } = await import('./main/metrics-server.ts')
  return startMetricsServer(...args)
}
