import type { Logger } from 'pino'
import { returnToReady, returnWhenUnlocked } from '../../outbox/claim.ts'
import { type RenderedContent, storeRenderedContents } from '../../outbox/content.ts'
import { isNewlySuppressed, loadAttachments } from '../../outbox/load.ts'
import { storeProviderEvents } from '../../outbox/provider-events.ts'
import type { Settlement } from '../../outbox/settle.ts'
import type { AttemptStart } from '../../outbox/start.ts'
import { Batcher } from '../../platform/batcher.ts'
import type { HtmlChecker } from '../../platform/html/check.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { retryWhileUnavailable } from '../../platform/postgres/retries.ts'
import { Semaphore, WeightedSemaphore } from '../../platform/semaphores.ts'
import type { EmailLog } from '../../platform/telemetry/email-log.ts'
import type { CallOutcome, ProcessFigures } from '../../platform/telemetry/process-figures.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import type { SendResult } from '../../providers/provider.ts'
import type { Config } from '../../settings/config.ts'
import { senderSettings } from '../../settings/sender.ts'
import { PublishedTemplates } from '../../templates/published.ts'
import { commitSettlements } from '../settle/commit.ts'
import type { SettleDeps } from '../settle/settle.ts'
import { toIncomingEvents } from '../settle/synchronous-events.ts'
import type { AttemptDeps } from './attempt.ts'
import { prepareContent } from './content.ts'
import { attemptLog, observeAttempts } from './observe.ts'
import { commitStarts } from './starts.ts'

/** One commit waits for the disk while the next is being written. In order: the fair order is that of the calls. */
const START_BATCH = { maxItems: 256, concurrency: 2, secondFlushWeight: 64, inOrder: true }
/** Settlements wait some milliseconds for each other: at half load, a shared commit halves their cost, and nobody waits for them. */
const SETTLE_BATCH = { maxItems: 256, concurrency: 2, gatherMs: 8, gathered: 64 }
const RENDERED_BATCH = { maxItems: 256, concurrency: 2, maxWeight: 2048 }
const RETURN_BATCH = { maxItems: 256, concurrency: 2 }
const PROVIDER_TIMEOUT_MS = 30_000
/**
 * How long a provider's answer, or a start that may be committed, is kept while Postgres is away: dropped, it would become an
 * unknown send, and perhaps a duplicate. A failover takes minutes. A process that stops keeps them until it exits.
 */
const RETRY_FOR_MS = 300_000
/**
 * Attachments in memory at once, before base64 and the copies that a request takes. Small ones have a limit of their own: the usual
 * invoice does not wait behind ten megabytes of somebody else.
 */
const MEGABYTE = 1024 * 1024
const ATTACHMENT_MEMORY = { smallBytes: MEGABYTE, small: 32 * MEGABYTE, large: 64 * MEGABYTE }

export type AttemptParts = {
  config: Config
  db: Database
  providers: AttemptDeps['providers']
  html: HtmlChecker
  eventsReceived: { wake(): void }
  /** An e-mail was settled: there may be webhooks to deliver. */
  wakeWebhooks: () => void
  /** For the reputation of a company: an e-mail was sent to so many recipients. */
  countSent: (companyId: string, recipients: number) => void
  emailLog: EmailLog
  tracing: Tracing
  figures: ProcessFigures
  log: Logger
}

export function composeAttempt(parts: AttemptParts, starts: Semaphore, stopping: AbortSignal): AttemptDeps {
  const { config, db, providers, html, emailLog, tracing, figures, log } = parts
  // A failed read would leave the e-mail to its lease, whose expiry counts an attempt although nothing was sent.
  const readWithRetries = <Out>(read: () => Promise<Out>) => retryWhileUnavailable(read, RETRY_FOR_MS)
  const rendered = new Batcher({
    ...RENDERED_BATCH,
    flush: (batch: RenderedContent[]) => storeRenderedContents(db.short, batch),
    weigh: ({ html, text }) => 1 + Math.floor(((html?.length ?? 0) + (text?.length ?? 0)) / 16_384),
  })
  const content = {
    html,
    sender: senderSettings(config),
    templates: new PublishedTemplates(db.pool),
    store: (one: RenderedContent) => rendered.add(one),
  }
  const attemptStarts = new Batcher({
    ...START_BATCH,
    onFlush: items => figures.batch('start', items),
    flush: (batch: AttemptStart[]) => commitStarts(db.sending.starts, batch, RETRY_FOR_MS),
  })
  return {
    providers: {
      ...providers,
      route: email => readWithRetries(() => providers.route(email)),
      waitForRate: (...wanted) => readWithRetries(() => providers.waitForRate(...wanted)),
      report(provider, result, call) {
        figures.called(provider.name, callOutcome(result), call.callMs)
        providers.report(provider, result, call)
      },
    },
    slots: { starts, calls: new Semaphore(config.WORKER_CONCURRENCY) },
    stopping,
    content: {
      prepare: (email, companyId) => readWithRetries(() => prepareContent(email, companyId, content)),
      textOf: async email => email.text ?? html.textOf(email.html!, email.companyId),
      // Not over the connections of the batches: megabytes would delay the renewal of leases and the settlements.
      loadAttachments: outboxId => readWithRetries(() => loadAttachments(db.pool, outboxId)),
      attachmentMemory: makeAttachmentMemory(),
    },
    outbox: {
      commitStart: start => attemptStarts.add(start),
      isNewlySuppressed: email => readWithRetries(() => isNewlySuppressed(db.short, email)),
    },
    observe: observeAttempts(tracing, attemptLog(log, emailLog)),
    settings: {
      graceSeconds: config.UNKNOWN_GRACE_SECONDS,
      retryPolicy: config.RETRY_POLICY,
      timeoutMs: PROVIDER_TIMEOUT_MS,
    },
    clock: { nowMs: () => performance.now(), random: Math.random },
  }
}

export function composeSettle(parts: AttemptParts): SettleDeps {
  const { config, db, eventsReceived, wakeWebhooks, countSent, emailLog, tracing, figures, log } = parts
  const { gatherMs, gathered, ...batch } = SETTLE_BATCH
  const settlements = new Batcher({
    ...batch,
    waitForMore: { ms: gatherMs, enough: Math.min(gathered, config.WORKER_CONCURRENCY) },
    onFlush: items => figures.batch('settle', items),
    flush: (some: Settlement[]) => commitSettlements(db.sending.settlements, some, RETRY_FOR_MS),
  })
  const returning = (write: typeof returnToReady) =>
    new Batcher({
      ...RETURN_BATCH,
      flush: async (outboxIds: string[]) => {
        await retryWhileUnavailable(() => write(db.short, outboxIds), RETRY_FOR_MS)
        return outboxIds
      },
    })
  const returns = returning(returnToReady)
  const returnsWhenUnlocked = returning(returnWhenUnlocked)
  return {
    outbox: {
      write: settlement => settlements.add(settlement),
      returnToReady: outboxId => returns.add(outboxId),
      returnWhenUnlocked: outboxId => returnsWhenUnlocked.add(outboxId),
      storeEvents: sent =>
        retryWhileUnavailable(() => storeProviderEvents(db.short, toIncomingEvents(sent)), RETRY_FOR_MS),
    },
    count: {
      sent: countSent,
      settled: (settlement, durationMs) => figures.settled({ ...settlement, durationMs }),
    },
    wake: { feedback: () => eventsReceived.wake(), webhooks: wakeWebhooks },
    log: attemptLog(log, emailLog),
    tracing,
  }
}

function callOutcome(result: SendResult): CallOutcome {
  if (result.kind === 'sent') return 'sent'
  const { ambiguous, throttled, unconnected } = result.failure
  if (ambiguous) return 'unknown'
  return throttled ? 'throttled' : unconnected ? 'unconnected' : 'failed'
}

export function makeAttachmentMemory(): AttemptDeps['content']['attachmentMemory'] {
  const small = new WeightedSemaphore(ATTACHMENT_MEMORY.small)
  const large = new WeightedSemaphore(ATTACHMENT_MEMORY.large)
  return {
    async runWith(bytes, work) {
      if (bytes === 0) return work()
      return (bytes <= ATTACHMENT_MEMORY.smallBytes ? small : large).runWith(bytes, work)
    },
  }
}
