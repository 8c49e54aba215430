import { acceptRequests } from '../../outbox/accept.ts'
import type { Draft, RequestToStore, StoreOutcome } from '../../outbox/draft.ts'
import { Batcher } from '../../platform/batcher.ts'
import { keyRing } from '../../platform/encryption.ts'
import type { HtmlChecker } from '../../platform/html/check.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { NO_TRACING } from '../../platform/telemetry/tracing.ts'
import type { Config } from '../../settings/config.ts'
import { senderSettings } from '../../settings/sender.ts'
import { PublishedTemplates } from '../../templates/published.ts'
import type { AcceptDeps, AcceptObserver } from './accept.ts'

/**
 * Accepts weigh one each, and one more per 16 KB. One flush at a time makes fuller batches (51 µs of Postgres an e-mail
 * instead of 67); a second one pays when a hundred are waiting, as with requests of a hundred, and those are served best
 * in large flushes (25 k/s in flushes of 512, 30 k/s in flushes of 2048).
 */
const ACCEPT_BATCH = { maxItems: 128, concurrency: 2, maxWeight: 2048, secondFlushWeight: 100 }
const WEIGHT_BYTES = 16 * 1024

/** Who is told what happens; nobody, unless given. `onFlush`: how many requests share a commit. */
type AcceptObservers = Partial<AcceptObserver & { onFlush: (requests: number) => void }>

/** What accepting needs, also without HTTP (`email-gateway send`). */
export function makeAccept(
  config: Config,
  db: Database,
  html: HtmlChecker,
  onAccepted: () => void,
  { onFlush, ...observers }: AcceptObservers = {},
): AcceptDeps {
  const requests = new Batcher<RequestToStore, StoreOutcome>({
    ...ACCEPT_BATCH,
    ...(onFlush && { onFlush }),
    flush: batch => acceptRequests(db.short, batch, db.clock),
    weigh: request => request.drafts.reduce((sum, draft) => sum + 1 + Math.floor(draftBytes(draft) / WEIGHT_BYTES), 0),
  })
  const templates = new PublishedTemplates(db.pool)
  return {
    write: request => requests.add(request),
    html,
    findTemplate: choice => templates.find(choice),
    secrets: { keys: keyRing(config.encryptionKeys), pepper: config.hashPepper },
    settings: {
      sender: senderSettings(config),
      defaultRetryPolicy: config.RETRY_POLICY,
      idempotencyDays: config.RETENTION_IDEMPOTENCY_DAYS,
    },
    clock: { now: () => db.clock.now(), newId: () => db.clock.newId() },
    onAccepted,
    observe: { countRequests: () => {}, log: () => {}, tracing: NO_TRACING, ...observers },
  }
}

function draftBytes(draft: Draft): number {
  const content = (draft.html?.length ?? 0) + (draft.text?.length ?? 0)
  return draft.attachments.reduce((sum, file) => sum + file.base64.length, content)
}
