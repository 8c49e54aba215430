import type { Logger } from 'pino'
import type { Storage } from '../console/storage.ts'
import type { Metrics } from '../figures/metrics.ts'
import type { Config } from '../settings/config.ts'
import { CannotListen } from '../web/cannot-listen.ts'
import { buildOperationsApp } from './http.ts'

/** How long a scrape under way may take once the process stops. */
const SCRAPE_GRACE_MS = 1_000

export type MetricsServer = { url: string; stop(): Promise<void> }

/** Serves /metrics and /health on METRICS_PORT; null without it. */
export async function startMetricsServer(
  config: Config,
  { db, folder }: Storage,
  metrics: Metrics,
  log: Logger,
): Promise<MetricsServer | null> {
  const { HOST: host, METRICS_PORT: port, METRICS_TOKEN: metricsToken } = config
  if (port === undefined) return null
  const app = await buildOperationsApp({ db, folder, metrics, metricsToken, log, trustProxy: config.TRUST_PROXY })
  try {
    const url = await app.listen({ host, port })
    const stop = async () => {
      const hangUp = setTimeout(() => app.server.closeAllConnections(), SCRAPE_GRACE_MS)
      await app.close()
      clearTimeout(hangUp)
    }
    return { url, stop }
  } catch (error) {
    await app.close()
    throw new CannotListen('METRICS_PORT', error as Error)
  }
}
