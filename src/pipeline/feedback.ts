import type pg from 'pg'
import type { Logger } from 'pino'
import { hashEmail } from '../contracts/hashing.ts'
import { maskSensitive } from '../contracts/masking.ts'
import { addressForms, decideEmail } from '../contracts/provider-events/decide.ts'
import type { ReportedFact } from '../contracts/provider-events/email-events.ts'
import type { ProviderReport } from '../contracts/provider-events/event.ts'
import { readReport } from '../contracts/provider-events/read.ts'
import { decideAutomaticSuppression, type SuppressionPolicy } from '../contracts/suppression/rules.ts'
import { addToReputation } from '../db/companies/reputation.ts'
import { addCounts, type Counter } from '../db/counters.ts'
import {
  type EventEnd,
  finishProviderEvents,
  takeProviderEvents,
  type WaitingEvent,
} from '../db/feedback/provider-events.ts'
import { type DecidedEmail, findByMessage, type Locked, lockEmails, putFeedback } from '../db/feedback/write.ts'
import { DatabaseUnavailable, inTransaction, isPassingConflict, type Queryable } from '../db/pool.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import type { Recorded } from '../feedback/event-loop.ts'
import { addressKey } from './accept.ts'

export type FeedbackDeps = { pool: pg.Pool; suppression: SuppressionPolicy; log: Logger; batch?: number }

const BATCH = 200
/** Somebody is just writing the e-mail. */
const BUSY_SECONDS = 1
/** An e-mail that is not found yet: asked for after 5 s, then after twice as long, at most every 10 minutes, for a day. */
const UNFOUND = { firstSeconds: 5, mostSeconds: 600, giveUpSeconds: 24 * 60 * 60 }

/**
 * Step 4 of the line: what providers say became of e-mails. Some reports out of the inbox, all that follows from them, and their
 * end, in one transaction: a process that dies here has done nothing, and the next one begins again.
 */
export async function recordFeedback(deps: FeedbackDeps): Promise<Recorded> {
  const ids: string[] = []
  try {
    return await inTransaction(deps.pool, tx => recordSome(tx, null, deps, ids))
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    if (isPassingConflict(error)) return { taken: ids.length, full: true, judged: false }
    return recordApart(ids, deps)
  }
}

/** One of them is what Postgres refuses, or what we did not think of: it is put aside, and its neighbours go on. */
async function recordApart(ids: string[], deps: FeedbackDeps): Promise<Recorded> {
  let judged = false
  for (const eventId of ids) {
    try {
      const one = await inTransaction(deps.pool, tx => recordSome(tx, eventId, deps, []))
      judged ||= one.judged
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      deps.log.error({ err: error, eventId }, 'A provider event could not be processed; it is tried again later')
      await putAside(eventId, error as Error, deps)
    }
  }
  return { taken: ids.length, full: true, judged }
}

async function putAside(eventId: string, error: Error, { pool }: FeedbackDeps): Promise<void> {
  await inTransaction(pool, async tx => {
    const [event] = await takeProviderEvents(tx, 1, eventId)
    if (event) await finishProviderEvents(tx, [laterOrNever(event, maskSensitive(error.message), 'unreadable')])
  })
}

/** `only`: this one. `ids` are told of what was taken. */
export async function recordSome(
  tx: Queryable,
  only: string | null,
  { suppression, batch = BATCH }: FeedbackDeps,
  ids: string[],
): Promise<Recorded> {
  const events = await takeProviderEvents(tx, batch, only)
  if (events.length === 0) return { taken: 0, full: false, judged: false }
  ids.push(...events.map(event => event.eventId))
  const read = events.map(event => ({
    event,
    ...readReport(event.provider, event.payload, Date.parse(event.receivedAt)),
  }))
  const reports = read.flatMap(one => (one.kind === 'report' ? [{ event: one.event, report: one.report }] : []))
  const named = await nameEmails(tx, reports)
  const locked = await lockEmails(tx, [...new Set([...named.values()])].sort())
  const decided = decide(reports, named, locked)
  const fresh = await putFeedback(tx, decided)
  const ends = read.map(one => endOf(one, named, locked))
  await finishProviderEvents(tx, ends)
  const effects = effectsOf(decided, fresh)
  await addToReputation(
    tx,
    effects.flatMap(({ email, kind }) => (email.counts ? [reputationOf(email.companyId, kind)] : [])),
  )
  await addCounts(tx, countsOf(read, ends, decided))
  // The last one, as it wishes.
  await addSuppressions(tx, suppressionsOf(effects, suppression))
  return { taken: events.length, full: events.length === batch, judged: effects.length > 0 }
}

type Report = { event: WaitingEvent; report: ProviderReport }

/** The e-mail of each report: its tag says so, otherwise its message id, asked through its recipients. */
async function nameEmails(tx: Queryable, reports: Report[]): Promise<Map<WaitingEvent, string>> {
  const untagged = reports.filter(({ report }) => !report.outboxId && !report.tagged && report.messageId)
  const found = await findByMessage(
    tx,
    untagged.map(({ report }) => ({
      messageId: report.messageId!,
      keys: report.sentTo.flatMap(addressForms).map(form => addressKey(hashEmail(form))),
    })),
  )
  const named = new Map<WaitingEvent, string>()
  for (const { event, report } of reports) {
    const outboxId = report.outboxId ?? found.get(report.messageId ?? '')
    if (outboxId) named.set(event, outboxId)
  }
  return named
}

function decide(reports: Report[], named: Map<WaitingEvent, string>, { emails }: Locked): DecidedEmail[] {
  const said = new Map<string, ReportedFact[]>()
  for (const { event, report } of reports) {
    const outboxId = named.get(event)
    const email = emails.get(outboxId ?? '')
    if (!outboxId || !email || isBeingSettled(event, email)) continue
    const { provider, receivedAt } = event
    const { messageId, attemptId } = report
    // Told again, or late, it is no news of the e-mail that was replayed since.
    if (attemptId && email.refusedAttempts.includes(attemptId)) continue
    const all = said.get(outboxId) ?? []
    for (const item of report.items)
      all.push({ ...item, at: item.at ?? receivedAt, provider, messageId: messageId ?? outboxId, attemptId })
    said.set(outboxId, all)
  }
  return [...said]
    .filter(([, all]) => all.length > 0)
    .map(([outboxId, all]) => ({ email: emails.get(outboxId)!, decision: decideEmail(emails.get(outboxId)!, all) }))
}

/** Our own worker has just stored this, and settles the e-mail next: SENT comes first, unless it never comes. */
function isBeingSettled({ provider }: WaitingEvent, { status }: DecidedEmail['email']): boolean {
  return status === 'PROCESSING' && (provider === 'capture' || provider === 'smtp')
}

type Read = { event: WaitingEvent } & ReturnType<typeof readReport>

function endOf(read: Read, named: Map<WaitingEvent, string>, { emails, busy }: Locked): EventEnd {
  const { event } = read
  const { eventId } = event
  if (read.kind === 'unreadable') return { eventId, state: 'unreadable', note: read.why }
  if (read.kind === 'ignored') return { eventId, state: 'ignored', note: read.type }
  const { type, outboxId: tag, tagged } = read.report
  const outboxId = named.get(event)
  const email = outboxId && emails.get(outboxId)
  if (email && !isBeingSettled(event, email)) return { eventId, state: 'processed', outboxId, note: type }
  if (email || (outboxId && busy.has(outboxId))) return { eventId, state: 'waiting', retrySeconds: BUSY_SECONDS }
  // An e-mail is there before its message is: one that its own tag does not find, or whose tags are not ours, is nobody's here.
  if (tag || tagged)
    return { eventId, state: 'unmatched', note: `${type}: ${tag ? 'no such e-mail' : 'not one of ours'}` }
  return laterOrNever(event, `${type}: no e-mail has this message id yet`, 'unmatched')
}

function laterOrNever(event: WaitingEvent, note: string, state: 'unmatched' | 'unreadable'): EventEnd {
  const { eventId, attempts, ageSeconds } = event
  if (ageSeconds >= UNFOUND.giveUpSeconds) return { eventId, state, note, counts: true }
  const retrySeconds = Math.min(UNFOUND.mostSeconds, UNFOUND.firstSeconds * 2 ** Math.min(attempts, 20))
  return { eventId, state: 'waiting', note, retrySeconds, counts: true }
}

type Effect = {
  email: DecidedEmail['email']
  kind: 'HARD_BOUNCE' | 'COMPLAINT'
  emailHash: string
  metadata: Record<string, unknown>
}

/** Of what was not known before. Mail of test keys bounces for nobody. */
function effectsOf(decided: DecidedEmail[], fresh: Set<string>): Effect[] {
  return decided.flatMap(({ email, decision }) =>
    email.test
      ? []
      : decision.events.flatMap(({ id, effect, metadata }) =>
          effect && fresh.has(id) ? [{ email, ...effect, metadata }] : [],
        ),
  )
}

const reputationOf = (companyId: string, kind: Effect['kind']) =>
  kind === 'COMPLAINT' ? { companyId, complained: 1 } : { companyId, bounced: 1 }

const SUPPRESSION_FACTS = [
  'bounceType',
  'bounceSubType',
  'diagnosticCode',
  'feedbackType',
  'userAgent',
  'feedbackId',
  'provider',
]

function suppressionsOf(effects: Effect[], policy: SuppressionPolicy) {
  return effects.flatMap(({ email, kind, emailHash, metadata }) => {
    const automatic = decideAutomaticSuppression(kind, email.companyId, policy)
    const facts = Object.fromEntries(
      SUPPRESSION_FACTS.filter(name => name in metadata).map(name => [name, metadata[name]]),
    )
    return automatic ? [{ ...automatic, emailHash, metadata: facts, performedBy: 'system' }] : []
  })
}

function countsOf(read: Read[], ends: EventEnd[], decided: DecidedEmail[]): Counter[] {
  const counts = read.flatMap((one, place): Counter[] => {
    const { state } = ends[place]!
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
