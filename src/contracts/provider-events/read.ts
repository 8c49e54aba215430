import { z } from 'zod'
import { bareAddress, parseJson, type ReadReport, saidBy, unreadable, wrongPlace } from './event.ts'
import { readResendEvent } from './resend.ts'
import { readSesEvent } from './ses.ts'

export const REPORTING_PROVIDERS = ['ses', 'resend', 'smtp', 'capture'] as const
export type ReportingProvider = (typeof REPORTING_PROVIDERS)[number]

/** What capture makes up, and what an SMTP server said about single recipients: in our own words. */
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

/** receivedMs: when it came, by the database's clock; a time in it is believed up to a day later. */
export function readReport(provider: ReportingProvider, payload: string, receivedMs: number): ReadReport {
  return READERS[provider](payload, receivedMs)
}

function readOwnReport(payload: string): ReadReport {
  const parsed = ownReportSchema.safeParse(parseJson(payload))
  if (!parsed.success) return unreadable(wrongPlace(parsed.error))
  const { outboxId, attemptId, messageId, kind, recipient, metadata } = parsed.data
  const item = { kind, recipient: bareAddress(recipient), at: null, feedbackId: null, metadata: saidBy(metadata) }
  const report = { type: kind, messageId, outboxId, attemptId, tagged: true, sentTo: [recipient], items: [item] }
  return { kind: 'report', report }
}
