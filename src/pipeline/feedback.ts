import type pg from 'pg'
import type { Logger } from 'pino'
import { maskSensitive } from '../contracts/masking.ts'
import { readReport } from '../contracts/provider-events/read.ts'
import type { SuppressionPolicy } from '../contracts/suppression/rules.ts'
import { addToReputation } from '../db/companies/reputation.ts'
import { addCounts } from '../db/counters.ts'
import { DatabaseUnavailable, isPassingConflict } from '../db/errors.ts'
import {
  finishProviderEvents,
  takeProviderEvent,
  takeProviderEvents,
  type WaitingEvent,
} from '../db/feedback/provider-events.ts'
import { lockEmails, putFeedback } from '../db/feedback/write.ts'
import { inTransaction, type Queryable } from '../db/query.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { decideEmails, decideEventEnd, laterOrNever } from '../feedback/decide.ts'
import { countsOf, effectsOf, reputationOf, sentOf, suppressionsOf } from '../feedback/effects.ts'
import type { Recorded } from '../feedback/event-loop.ts'
import { logReported, type ReportedEvent, reportedEvents } from '../feedback/log.ts'
import { matchEmails } from '../feedback/match.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { Tracing } from '../telemetry/tracing.ts'

export type FeedbackDeps = {
  db: pg.Pool
  suppression: SuppressionPolicy
  emailLog: EmailLog
  tracing: Tracing
  log: Logger
  batch?: number
}

const BATCH = 200

/**
 * Step 5: provider events → recipient status, suppression, reputation. A batch of stored events, everything that follows from
 * them, and their end, in one transaction: when the process dies, nothing of it has happened.
 */
export async function recordFeedback(deps: FeedbackDeps): Promise<Recorded> {
  // The ids outlive a transaction that fails.
  let ids: string[] = []
  const startedMs = Date.now()
  try {
    const recorded = await inTransaction(deps.db, async tx => {
      const events = await takeProviderEvents(tx, deps.batch ?? BATCH)
      ids = events.map(event => event.eventId)
      return recordEvents(tx, events, deps)
    })
    report(recorded, startedMs, deps)
    return recorded
  } catch (error) {
    // Nothing was taken: no event is at fault, and asking again at once would find the same error.
    if (error instanceof DatabaseUnavailable || ids.length === 0) throw error
    if (isPassingConflict(error)) return { taken: ids.length, again: true, reputationChanged: false }
    return recordOneByOne(ids, deps)
  }
}

/** One event of the batch cannot be processed: it is tried again later, and the others go on. */
async function recordOneByOne(ids: string[], deps: FeedbackDeps): Promise<Recorded> {
  let reputationChanged = false
  for (const eventId of ids) {
    const startedMs = Date.now()
    try {
      const one = await inTransaction(deps.db, tx => recordEvent(tx, eventId, deps))
      report(one, startedMs, deps)
      reputationChanged ||= one.reputationChanged
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      deps.log.error({ err: error, eventId }, 'A provider event could not be processed; it is tried again later')
      await postpone(eventId, error as Error, deps)
    }
  }
  return { taken: ids.length, again: true, reputationChanged }
}

/** After the commit. */
function report({ reported }: RecordedEvents, startedMs: number, { emailLog, tracing }: FeedbackDeps): void {
  for (const one of reported) {
    logReported(one, emailLog)
    const { outboxId, companyId, traceparent } = one.email
    tracing.record('feedback', traceparent, startedMs, { outboxId, companyId, event: one.event.type })
  }
}

type RecordedEvents = Recorded & { reported: ReportedEvent[] }

export async function recordEvent(tx: Queryable, eventId: string, deps: FeedbackDeps): Promise<RecordedEvents> {
  return recordEvents(tx, await takeProviderEvent(tx, eventId), deps)
}

async function recordEvents(
  tx: Queryable,
  events: WaitingEvent[],
  { suppression, batch = BATCH }: FeedbackDeps,
): Promise<RecordedEvents> {
  if (events.length === 0) return { taken: 0, again: false, reputationChanged: false, reported: [] }
  const read = events.map(event => ({
    event,
    ...readReport(event.provider, event.payload, Date.parse(event.receivedAt)),
  }))
  const reports = read.flatMap(one => (one.kind === 'report' ? [{ event: one.event, report: one.report }] : []))

  const matched = await matchEmails(tx, reports)
  const locked = await lockEmails(tx, [...new Set(matched.values())].sort())
  const decided = decideEmails(reports, matched, locked)
  const fresh = await putFeedback(tx, decided)
  const ends = read.map(one => decideEventEnd(one, matched, locked))
  await finishProviderEvents(tx, ends)

  const effects = effectsOf(decided, fresh)
  await addToReputation(tx, [...sentOf(decided, fresh), ...reputationOf(effects)])
  await addCounts(tx, countsOf(read, ends, decided))
  // Last: it locks rows that all processes share, and two transactions must not deadlock.
  await addSuppressions(tx, suppressionsOf(effects, suppression))
  const reported = reportedEvents(decided, fresh)
  return { taken: events.length, again: events.length === batch, reputationChanged: effects.length > 0, reported }
}

async function postpone(eventId: string, error: Error, { db }: FeedbackDeps): Promise<void> {
  await inTransaction(db, async tx => {
    const [event] = await takeProviderEvent(tx, eventId)
    if (event) await finishProviderEvents(tx, [laterOrNever(event, maskSensitive(error.message), 'unreadable')])
  })
}
