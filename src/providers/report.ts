import { z } from 'zod'
import type { FeedbackStatus } from '../outbox/states.ts'
import { maskDeep } from '../platform/text/masking.ts'
import { isUuid } from '../platform/text/uuid.ts'

/** DELAYED changes no status, but proves that the message was sent. */
export type ReportKind = FeedbackStatus | 'DELAYED'

/** One reported fact about one recipient, or about all of them (null). */
export type ReportItem = {
  kind: ReportKind
  recipient: string | null
  /** When it happened, by the provider's clock; null if not given. */
  at: string | null
  /** Distinguishes two bounces of one message. */
  feedbackId: string | null
  /** Masked, without the address. */
  metadata: Record<string, unknown>
}

/** A parsed provider event. */
export type ProviderReport = {
  /** The provider's event type, for logs and metrics. */
  type: string
  messageId: string | null
  outboxId: string | null
  attemptId: string | null
  /** The event has tags, so it would have an outbox_id if the message came from this gateway. */
  tagged: boolean
  /** The recipients, used to find the e-mail of an event without tags. */
  sentTo: string[]
  items: ReportItem[]
}

export type ReadReport =
  | { kind: 'report'; report: ProviderReport }
  /** Not about an e-mail, or of a type that the gateway does not use. */
  | { kind: 'ignored'; type: string }
  | { kind: 'unreadable'; why: string }

const MAX_TYPE = 40

/** SES and Resend allow 50 recipients per message. */
export const MAX_RECIPIENTS = 100

export const ignored = (type: string): ReadReport => ({ kind: 'ignored', type: typeName(type) })

export const unreadable = (why: string): ReadReport => ({ kind: 'unreadable', why })

/** A short plain word, because it becomes a label of metrics and logs. */
export function typeName(type: string): string {
  return type.replaceAll(/[^A-Za-z0-9._-]+/g, '').slice(0, MAX_TYPE) || 'unknown'
}

/** Removes missing values and masks the rest. */
export function maskedFacts(facts: Record<string, unknown>): Record<string, unknown> {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null && value !== '')
  return maskDeep(Object.fromEntries(known)) as Record<string, unknown>
}

/** `Maria <maria@example.com>` → maria@example.com, in lower case for comparing and hashing. */
export function bareAddress(text: string): string {
  const open = text.lastIndexOf('<')
  const bare = open === -1 ? text : text.slice(open + 1).replace(/>[^>]*$/, '')
  return bare.trim().toLowerCase()
}

/** An ISO time, or null if it is missing or impossible. receivedMs is by the database's clock. */
export function instantOf(text: unknown, receivedMs: number): string | null {
  if (typeof text !== 'string' || text.length > 40) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms) || ms < Date.UTC(2020, 0, 1) || ms > receivedMs + DAY_MS) return null
  return new Date(ms).toISOString()
}

const DAY_MS = 24 * 60 * 60 * 1000

/** undefined if it is not JSON. */
export function parseJson(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch {
    return undefined
  }
}

export function uuidIn(value: string | null | undefined): string | null {
  return value && isUuid(value) ? value.toLowerCase() : null
}

/** The first invalid field and what is wrong with it. */
export function firstIssue(error: z.ZodError): string {
  const [issue] = error.issues
  return `${issue?.path.join('.') || 'the message'}: ${issue?.message}`.slice(0, 200)
}

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

export function readOwnReport(payload: string): ReadReport {
  const parsed = ownReportSchema.safeParse(parseJson(payload))
  if (!parsed.success) return unreadable(firstIssue(parsed.error))
  const { outboxId, attemptId, messageId, kind, recipient, metadata } = parsed.data
  const item = { kind, recipient: bareAddress(recipient), at: null, feedbackId: null, metadata: maskedFacts(metadata) }
  const report = { type: kind, messageId, outboxId, attemptId, tagged: true, sentTo: [recipient], items: [item] }
  return { kind: 'report', report }
}
