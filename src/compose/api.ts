import type { Logger } from 'pino'
import { type Config, suppressionPolicy } from '../config.ts'
import { keyRing } from '../contracts/encryption.ts'
import { takeTokens } from '../db/companies/rate-buckets.ts'
import { addSendRequests } from '../db/companies/send-requests.ts'
import { buildApp } from '../http/app.ts'
import { CannotListen } from '../http/cannot-listen.ts'
import { KeyRegistry } from '../http/key-registry.ts'
import { RequestCounts } from '../http/request-counts.ts'
import { Batcher } from '../runtime/batcher.ts'
import type { HtmlChecker } from '../sending/html-check.ts'
import { makeAccept } from './accept.ts'
import { countLogins } from './admin-logins.ts'
import { composeProviderEvents } from './provider-events.ts'
import type { Storage } from './storage.ts'

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
  version: string
  log: Logger
}

export type Api = { url: string; stop(): Promise<void> }

/** Listens for HTTP requests. */
export async function startApi(parts: ApiParts): Promise<Api> {
  const { config, storage, html, onAccepted, onWebhooksEnqueued, onEventsReceived, version, log } = parts
  const { db, folder } = storage
  const events = composeProviderEvents(config, db, onEventsReceived, log)
  const keys = new KeyRegistry(db.pool)
  const logins = countLogins(db.pool, log)
  const counts = new RequestCounts(batch => addSendRequests(db.pool, batch), log)
  const app = await buildApp({
    db,
    folder,
    keys,
    pepper: config.hashPepper,
    providers: config.EMAIL_PROVIDER,
    accept: makeAccept(config, db, html, onAccepted, (...counted) => counts.count(...counted)),
    suppression: suppressionPolicy(config),
    events: events.deps,
    webhooks: {
      keys: keyRing(config.encryptionKeys),
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
      onEnqueued: onWebhooksEnqueued,
    },
    tokens: new Batcher({
      ...TOKEN_BATCH,
      flush: (batch: Parameters<typeof takeTokens>[1]) => takeTokens(db.pool, batch),
    }),
    log,
    trustProxy: config.TRUST_PROXY,
    publicUrl: config.PUBLIC_URL,
    onLoginRefused: logins.refused,
    metricsToken: config.METRICS_TOKEN,
    version,
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
