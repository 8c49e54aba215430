import { decideEmail } from '../contracts/provider-events/decide.ts'
import type { ReportedFact } from '../contracts/provider-events/email-events.ts'
import type { EventEnd, WaitingEvent } from '../db/feedback/provider-events.ts'
import type { DecidedEmail, Locked } from '../db/feedback/write.ts'
import type { MatchedEmails, ReadableReport, ReadEvent } from './match.ts'

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
