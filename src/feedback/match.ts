import type { ProviderReport } from '../contracts/provider-events/event.ts'
import type { readReport } from '../contracts/provider-events/read.ts'
import type { WaitingEvent } from '../db/feedback/provider-events.ts'
import { findByMessage } from '../db/feedback/write.ts'
import type { Queryable } from '../db/query.ts'

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
