import { z } from 'zod'
import { bareAddress, firstIssue, maskedFacts, parseJson, type ReadReport, unreadable } from './report.ts'
import { readResendEvent } from './resend/reports.ts'
import { readSesEvent } from './ses/reports.ts'

const REPORTING_PROVIDERS = ['ses', 'resend', 'smtp', 'capture'] as const
export type ReportingProvider = (typeof REPORTING_PROVIDERS)[number]

/** The gateway's own format, for simulated events of capture and for recipients refused by an SMTP server. */
const ownReportSchema = z.object({
  outboxId: z.uuid(),
  attemptId: z.uuid(),
  messageId: z.string().min(1),
  kind: z.enum(['DELIVERED', 'BOUNCED', 'COMPLAINED']),
  recipient: z.string(),
  metadata: z.record(z.string(), z.unknown()),
})
export type OwnReport = z.infer<typeof ownReportSchema>

const READERS: Record<ReportingProvider, (payload: string, receivedMs: number) => ReadReport> = {
  ses: readSesEvent,
  resend: readResendEvent,
  smtp: readOwnReport,
  capture: readOwnReport,
}

/** receivedMs is by the database's clock. Times in the event are ignored if they are more than a day later. */
export function readReport(provider: ReportingProvider, payload: string, receivedMs: number): ReadReport {
  return READERS[provider](payload, receivedMs)
}

function readOwnReport(payload: string): ReadReport {
  const parsed = ownReportSchema.safeParse(parseJson(payload))
  if (!parsed.success) return unreadable(firstIssue(parsed.error))
  const { outboxId, attemptId, messageId, kind, recipient, metadata } = parsed.data
  const item = { kind, recipient: bareAddress(recipient), at: null, feedbackId: null, metadata: maskedFacts(metadata) }
  const report = { type: kind, messageId, outboxId, attemptId, tagged: true, sentTo: [recipient], items: [item] }
  return { kind: 'report', report }
}
