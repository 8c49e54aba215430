import { decideAutomaticSuppression, type SuppressionPolicy } from '../contracts/suppression/rules.ts'
import type { Counter } from '../db/counters.ts'
import type { EventEnd } from '../db/feedback/provider-events.ts'
import type { DecidedEmail } from '../db/feedback/write.ts'
import type { ReadEvent } from './match.ts'

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
