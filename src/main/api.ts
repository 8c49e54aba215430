import type { Logger } from 'pino'
import { takeTokens } from '../companies/rate-limit.ts'
import { KeyRegistry, keyVerifier } from '../companies/require-key.ts'
import { addSendRequests } from '../companies/statistics.ts'
import type { Storage } from '../console/storage.ts'
import { composeDomains } from '../domains/domains.ts'
import { type SmtpServer, startSmtp } from '../doors/smtp/server.ts'
import type { Metrics } from '../figures/metrics.ts'
import { makeAccept } from '../pipeline/accept/compose.ts'
import { composeProviderEvents } from '../pipeline/feedback/compose.ts'
import { Batcher } from '../platform/batcher.ts'
import { keyRing } from '../platform/encryption.ts'
import type { HtmlChecker } from '../platform/html/check.ts'
import { targetOf } from '../platform/postgres/connection.ts'
import { bufferedCounter, bufferedCounts } from '../platform/postgres/counters.ts'
import { makeEmailLog } from '../platform/telemetry/email-log.ts'
import type { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import type { Tracing } from '../platform/telemetry/tracing.ts'
import type { Config } from '../settings/config.ts'
import { suppressionPolicy } from '../suppression/rules.ts'
import { CannotListen } from '../web/cannot-listen.ts'
import type { App } from '../web/server.ts'
import { buildApp } from './http.ts'

/** How long a request under way may take once the process stops. */
const REQUEST_GRACE_MS = 5_000
const TOKEN_BATCH = { maxItems: 500, concurrency: 1 }

export type ApiParts = {
  config: Config
  storage: Storage
  html: HtmlChecker
  onAccepted: () => void
  onWebhooksEnqueued: () => void
  onEventsReceived: () => void
  metrics: Metrics
  figures: ProcessFigures
  version: string
  tracing: Tracing
  log: Logger
}

/** `smtpPort`: null without SMTP_INGRESS_PORT. */
export type Api = { url: string; smtpPort: number | null; stop(): Promise<void> }

/** Listens for HTTP requests, and for SMTP if that is configured. */
export async function startApi(parts: ApiParts): Promise<Api> {
  const { config, storage, html, onAccepted, onWebhooksEnqueued, onEventsReceived } = parts
  const { metrics, figures, tracing, version, log } = parts
  const { db, folder } = storage
  const events = composeProviderEvents(config, db, onEventsReceived, log)
  const keys = new KeyRegistry(db.pool)
  const logins = bufferedCounter('admin_logins_refused', db.pool, log)
  const smtpMessages = bufferedCounter('smtp_messages', db.pool, log)
  const requestCounts = bufferedCounts('email_send_requests', counts => addSendRequests(db.pool, counts), log)
  const emailLog = makeEmailLog(log, config.LOG_SAMPLE)
  const accept = makeAccept(config, db, html, onAccepted, {
    countRequests(companyId, requests, suppressed) {
      requestCounts.count(`${companyId} false`, requests - suppressed)
      requestCounts.count(`${companyId} true`, suppressed)
    },
    onFlush: requests => figures.batch('accept', requests),
    log: emailLog,
    tracing,
  })
  const tokens = new Batcher({
    ...TOKEN_BATCH,
    flush: (batch: Parameters<typeof takeTokens>[1]) => takeTokens(db.pool, batch),
  })
  const app = await buildApp({
    db,
    database: targetOf(storage.url),
    folder,
    keys,
    pepper: config.hashPepper,
    providers: config.EMAIL_PROVIDER,
    sendRate: config.SEND_RATE_PER_SECOND ?? null,
    accept,
    suppression: suppressionPolicy(config),
    events: events.deps,
    webhooks: {
      keys: keyRing(config.encryptionKeys),
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
      onEnqueued: onWebhooksEnqueued,
    },
    tokens,
    log,
    logSample: config.LOG_SAMPLE,
    emailLog,
    tracing,
    onAnswered: request => figures.answered(request),
    trustProxy: config.TRUST_PROXY,
    publicUrl: config.PUBLIC_URL,
    domains: composeDomains(config, db),
    region: config.AWS_REGION ?? 'us-east-1',
    onLoginRefused: logins.count,
    adminSessions: { idleMinutes: config.ADMIN_SESSION_IDLE_MINUTES, days: config.ADMIN_SESSION_DAYS },
    metrics,
    metricsToken: config.METRICS_TOKEN,
    version,
  })
  let smtp: SmtpServer | null = null
  const stop = async () => {
    // A client that never finishes its request is not waited for.
    const hangUp = setTimeout(() => app.server.closeAllConnections(), REQUEST_GRACE_MS)
    await Promise.all([app.close(), smtp?.stop()])
    clearTimeout(hangUp)
    await keys.close()
    await logins.close()
    await smtpMessages.close()
    await requestCounts.close()
    await events.close()
  }
  try {
    const url = await listen(app, config)
    const verify = keyVerifier(keys, config.hashPepper, 'send')
    smtp = await startSmtp(config, {
      verify,
      tokens,
      accept,
      onMessage: smtpMessages.count,
      tracing,
      logSample: config.LOG_SAMPLE,
      log,
    })
    return { url, smtpPort: smtp?.port ?? null, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function listen(app: App, { HOST, PORT }: Config): Promise<string> {
  try {
    return await app.listen({ host: HOST, port: PORT })
  } catch (error) {
    throw new CannotListen('PORT', error as Error)
  }
}
