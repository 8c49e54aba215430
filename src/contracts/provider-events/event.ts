import type { z } from 'zod'
import { maskDeep } from '../masking.ts'
import type { FeedbackStatus } from '../states.ts'
import { isUuid } from '../uuid.ts'

/** What providers say became of a message. DELAYED changes nothing, but shows that it has left. */
export type ReportKind = FeedbackStatus | 'DELAYED'

/** One thing that was said about one recipient, or about all of them (null). */
export type ReportItem = {
  kind: ReportKind
  recipient: string | null
  /** When it happened, by the provider's clock; null where it does not say. */
  at: string | null
  /** Tells two bounces of one message apart. */
  feedbackId: string | null
  /** For the e-mail's event: masked, without the address. */
  metadata: Record<string, unknown>
}

/** A provider's message, read. */
export type ProviderReport = {
  /** As the provider calls it, for logs and metrics. */
  type: string
  messageId: string | null
  outboxId: string | null
  attemptId: string | null
  /** The message carried tags, so one of ours would name its e-mail. */
  tagged: boolean
  /** To whom the message went: finds its e-mail where there are no tags. */
  sentTo: string[]
  items: ReportItem[]
}

export type ReadReport =
  | { kind: 'report'; report: ProviderReport }
  /** Nothing to do with an e-mail, or nothing that we want to know. */
  | { kind: 'ignored'; type: string }
  | { kind: 'unreadable'; why: string }

const MAX_TYPE = 40
/** SES and Resend take 50 recipients a message. */
export const MAX_RECIPIENTS = 100

export const ignored = (type: string): ReadReport => ({ kind: 'ignored', type: typeName(type) })
export const unreadable = (why: string): ReadReport => ({ kind: 'unreadable', why })

/** A label of metrics and logs: whatever the message says, it stays a short plain word. */
export function typeName(type: string): string {
  return type.replaceAll(/[^A-Za-z0-9._-]+/g, '').slice(0, MAX_TYPE) || 'unknown'
}

/** What is known, masked; what is not said is left out. */
export function saidBy(facts: Record<string, unknown>): Record<string, unknown> {
  const said = Object.entries(facts).filter(([, value]) => value !== undefined && value !== null && value !== '')
  return maskDeep(Object.fromEntries(said)) as Record<string, unknown>
}

/** `Maria <maria@example.com>` → maria@example.com, as it is compared and hashed. */
export function bareAddress(text: string): string {
  const open = text.lastIndexOf('<')
  const bare = open === -1 ? text : text.slice(open + 1).replace(/>[^>]*$/, '')
  return bare.trim().toLowerCase()
}

/** ISO in, ISO out, or null: a moment far from any possible one would be worse than none. receivedMs: by the database's clock. */
export function instantOf(text: unknown, receivedMs: number): string | null {
  if (typeof text !== 'string' || text.length > 40) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms) || ms < Date.UTC(2020, 0, 1) || ms > receivedMs + DAY_MS) return null
  return new Date(ms).toISOString()
}

const DAY_MS = 24 * 60 * 60 * 1000

/** undefined: it is no JSON. */
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

/** Which field is wrong, for whoever looks at an unreadable message. */
export function wrongPlace(error: z.ZodError): string {
  const [issue] = error.issues
  return `${issue?.path.join('.') || 'the message'}: ${issue?.message}`.slice(0, 200)
}
