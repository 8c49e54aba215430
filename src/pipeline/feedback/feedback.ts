import type pg from 'pg'
import type { Logger } from 'pino'
import { addToReputation } from '../../companies/reputation.ts'
import {
  type EventEnd,
  finishProviderEvents,
  takeProviderEvent,
  takeProviderEvents,
  type WaitingEvent,
} from '../../outbox/provider-events.ts'
import { decideEmail, type FeedbackEvent, type ReportedFact } from '../../outbox/report-rules.ts'
import { type DecidedEmail, findByMessage, type Locked, lockEmails, putFeedback } from '../../outbox/reports.ts'
import type { EmailEventType } from '../../outbox/states.ts'
import { addCounts, type Counter } from '../../platform/postgres/counters.ts'
import { DatabaseUnavailable, isPassingConflict } from '../../platform/postgres/errors.ts'
import { inTransaction, type Queryable } from '../../platform/postgres/query.ts'
import type { EmailLine, EmailLog } from '../../platform/telemetry/email-log.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import { maskSensitive } from '../../platform/text/masking.ts'
import type { ProviderReport } from '../../providers/report.ts'
import { readReport } from '../../providers/table.ts'
import { addSuppressions } from '../../suppression/list.ts'
import { decideAutomaticSuppression, type SuppressionPolicy } from '../../suppression/rules.ts'
import type { Recorded } from './event-loop.ts'

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

/** How soon an event is tried again whose e-mail another transaction is writing. */
const BUSY_SECONDS = 1
/** An e-mail that is not found yet: looked for after 5 s, then after twice as long, at most every 10 minutes, for a day. */
const NOT_FOUND = { firstSeconds: 5, maxSeconds: 600, giveUpSeconds: 24 * 60 * 60 }

/** What follows from the reports for each e-mail. */
export function decideEmails(reports: ReadableReport[], matched: MatchedEmails, { emails }: Locked): DecidedEmail[] {
  const said = new Map<string, ReportedFact[]>()
  for (const { event, report } of reports) {
    const outboxId = matched.get(event)
    const email = emails.get(outboxId ?? '')
    if (!outboxId || !email || isBeingSettled(event, email)) continue
    const { provider, receivedAt } = event
    const { messageId, attemptId } = report
    // The e-mail was replayed since: a late or repeated report about the old attempt changes nothing.
    if (attemptId && email.refusedAttempts.includes(attemptId)) continue
    const all = said.get(outboxId) ?? []
    for (const item of report.items)
      all.push({
        ...item,
        at: item.at ?? laterOf(receivedAt, email.sentAt),
        provider,
        messageId: messageId ?? outboxId,
        attemptId,
      })
    said.set(outboxId, all)
  }
  return [...said]
    .filter(([, all]) => all.length > 0)
    .map(([outboxId, all]) => ({ email: emails.get(outboxId)!, decision: decideEmail(emails.get(outboxId)!, all) }))
}

/** What a provider reports with its answer is stored before the answer is written. */
const laterOf = (receivedAt: string, sentAt: string | null) =>
  sentAt !== null && sentAt > receivedAt ? sentAt : receivedAt

/** Our own worker stored this event and settles the e-mail next: SENT must come first. */
function isBeingSettled({ provider }: WaitingEvent, { status }: DecidedEmail['email']): boolean {
  return status === 'PROCESSING' && (provider === 'capture' || provider === 'smtp')
}

/** What becomes of the stored event itself. */
export function decideEventEnd(read: ReadEvent, matched: MatchedEmails, { emails, busy }: Locked): EventEnd {
  const { event } = read
  const { eventId } = event
  if (read.kind === 'unreadable') return { eventId, state: 'unreadable', note: read.why }
  if (read.kind === 'ignored') return { eventId, state: 'ignored', note: read.type }
  const { type, outboxId: tag, tagged } = read.report
  const outboxId = matched.get(event)
  const email = outboxId && emails.get(outboxId)
  if (email && !isBeingSettled(event, email)) return { eventId, state: 'processed', outboxId, note: type }
  if (email || (outboxId && busy.has(outboxId))) return { eventId, state: 'waiting', retrySeconds: BUSY_SECONDS }
  // An e-mail exists before its message does: a tag that finds none, or tags that are not ours, never will.
  if (tag || tagged)
    return { eventId, state: 'unmatched', note: `${type}: ${tag ? 'no such e-mail' : 'not one of ours'}` }
  return laterOrNever(event, `${type}: no e-mail has this message id yet`, 'unmatched')
}

/** Tried again later, with a growing delay, until it is given up. */
export function laterOrNever(event: WaitingEvent, note: string, state: 'unmatched' | 'unreadable'): EventEnd {
  const { eventId, attempts, ageSeconds } = event
  if (ageSeconds >= NOT_FOUND.giveUpSeconds) return { eventId, state, note, counts: true }
  const retrySeconds = Math.min(NOT_FOUND.maxSeconds, NOT_FOUND.firstSeconds * 2 ** Math.min(attempts, 20))
  return { eventId, state: 'waiting', note, retrySeconds, counts: true }
}

/** A bounce or complaint that counts for the company and may suppress the address. */
export type Effect = {
  email: DecidedEmail['email']
  kind: 'HARD_BOUNCE' | 'COMPLAINT'
  emailHash: string
  metadata: Record<string, unknown>
}

/** Only of events that were not known before, and not for mail of test keys. */
export function effectsOf(decided: DecidedEmail[], fresh: Set<string>): Effect[] {
  return decided.flatMap(({ email, decision }) =>
    email.test
      ? []
      : decision.events.flatMap(({ id, effect, metadata }) =>
          effect && fresh.has(id) ? [{ email, ...effect, metadata }] : [],
        ),
  )
}

/** An e-mail whose provider event came before the answer, or in place of it, is counted as sent here: its settlement finds nothing to do. */
export function sentOf(decided: DecidedEmail[], fresh: Set<string>) {
  return decided.flatMap(({ email: { companyId, counts, recipients }, decision }) =>
    counts && decision.events.some(({ id, type }) => type === 'SENT' && fresh.has(id))
      ? [{ companyId, sent: recipients.filter(one => !one.suppressed).length }]
      : [],
  )
}

/** Each recipient of an e-mail once: a recipient's server can bounce the same message as often as it likes. */
export function reputationOf(effects: Effect[]) {
  const counted = new Map<Effect['email'], Set<string>>()
  return effects.flatMap(({ email, kind, emailHash }) => {
    const { companyId, counts, countedBefore } = email
    const before = counted.get(email) ?? new Set(countedBefore)
    counted.set(email, before)
    const fact = `${kind === 'COMPLAINT' ? 'COMPLAINT' : 'BOUNCE'} ${emailHash}`
    if (!counts || before.has(fact)) return []
    before.add(fact)
    return [kind === 'COMPLAINT' ? { companyId, complained: 1 } : { companyId, bounced: 1 }]
  })
}

const SUPPRESSION_FACTS = [
  'bounceType',
  'bounceSubType',
  'diagnosticCode',
  'feedbackType',
  'userAgent',
  'feedbackId',
  'provider',
]

export function suppressionsOf(effects: Effect[], policy: SuppressionPolicy) {
  return effects.flatMap(({ email, kind, emailHash, metadata }) => {
    const automatic = decideAutomaticSuppression(kind, email.companyId, policy)
    const facts = Object.fromEntries(
      SUPPRESSION_FACTS.filter(name => name in metadata).map(name => [name, metadata[name]]),
    )
    return automatic ? [{ ...automatic, emailHash, metadata: facts, performedBy: 'system' }] : []
  })
}

/** The counters that /metrics shows. */
export function countsOf(read: ReadEvent[], ends: EventEnd[], decided: DecidedEmail[]): Counter[] {
  const counts = read.flatMap((one, index): Counter[] => {
    const { state } = ends[index]!
    if (state === 'waiting') return []
    const type = one.kind === 'report' ? one.report.type : one.kind === 'ignored' ? one.type : 'unreadable'
    return [
      { name: 'provider_events_received', label: `${one.event.provider} ${type}`, value: 1 },
      { name: 'provider_events_ended', label: state, value: 1 },
    ]
  })
  const resolved = decided.filter(({ email, decision }) => decision.moved && email.wasUnknown).length
  if (resolved > 0) counts.push({ name: 'unknown_resolved', label: 'provider-event', value: resolved })
  return counts
}

/** A stored event, and what its payload says. */
export type ReadEvent = { event: WaitingEvent } & ReturnType<typeof readReport>
export type ReadableReport = { event: WaitingEvent; report: ProviderReport }

/** The outbox id of each event, as far as it is known. */
export type MatchedEmails = Map<WaitingEvent, string>

/** The e-mail of each report: its tag names it; without a tag, its message id finds it. */
export async function matchEmails(tx: Queryable, reports: ReadableReport[]): Promise<MatchedEmails> {
  const untagged = reports.filter(({ report }) => !report.outboxId && !report.tagged && report.messageId)
  const found = await findByMessage(
    tx,
    untagged.map(({ report }) => report.messageId!),
  )
  const matched: MatchedEmails = new Map()
  for (const { event, report } of reports) {
    const outboxId = report.outboxId ?? found.get(report.messageId ?? '')
    if (outboxId) matched.set(event, outboxId)
  }
  return matched
}

/** An event that a provider reported, and that was not known before. */
export type ReportedEvent = { email: DecidedEmail['email']; event: FeedbackEvent }

export function reportedEvents(decided: DecidedEmail[], fresh: Set<string>): ReportedEvent[] {
  return decided.flatMap(({ email, decision }) =>
    decision.events.filter(({ id }) => fresh.has(id)).map(event => ({ email, event })),
  )
}

const LINES: Partial<Record<EmailEventType, EmailLine>> = {
  SENT: 'sent',
  DELIVERED: 'delivered',
  BOUNCE: 'bounced',
  COMPLAINT: 'complained',
  REJECTED: 'rejected',
}

export function logReported({ email, event: { type, metadata } }: ReportedEvent, log: EmailLog): void {
  const line = LINES[type]
  if (!line) return
  const { provider, messageId, bounceType, errorCode, processingTimeMs } = metadata
  log(line, email, {
    state: type,
    attempt: email.attempts,
    maxAttempts: email.maxAttempts,
    ...(typeof provider === 'string' && { provider }),
    ...(typeof messageId === 'string' && { messageId }),
    ...(typeof bounceType === 'string' && { bounceType }),
    ...(typeof errorCode === 'string' && { errorCode }),
    ...(typeof processingTimeMs === 'number' && { durationMs: processingTimeMs }),
  })
}
