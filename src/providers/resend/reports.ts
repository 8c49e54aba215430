import { z } from 'zod'
import {
  bareAddress,
  firstIssue,
  ignored,
  instantOf,
  MAX_RECIPIENTS,
  maskedFacts,
  parseJson,
  type ReadReport,
  type ReportItem,
  type ReportKind,
  typeName,
  unreadable,
  uuidIn,
} from '../report.ts'

const text = z.string().nullish()

const eventSchema = z.looseObject({
  type: z.string(),
  created_at: text,
  data: z.looseObject({
    email_id: z.string().min(1).max(300),
    to: z.union([z.string().max(1000), z.array(z.string().max(1000)).max(MAX_RECIPIENTS)]).nullish(),
    // An object in webhooks, a list in the rest of Resend's API.
    tags: z
      .union([z.record(z.string(), z.string()), z.array(z.looseObject({ name: z.string(), value: text }))])
      .nullish(),
    bounce: z
      .looseObject({ type: text, subType: text, message: text, diagnosticCode: z.unknown().optional() })
      .nullish(),
    complaint: z.looseObject({ type: text, userAgent: text }).nullish(),
    failed: z.looseObject({ reason: text }).nullish(),
    suppressed: z.looseObject({ type: text, message: text }).nullish(),
  }),
})

const namedSchema = z.looseObject({ type: z.string() })

type ResendEvent = z.infer<typeof eventSchema>
type Meaning = { kind: ReportKind; facts: (data: ResendEvent['data']) => Record<string, unknown> }

/** Other types (opens, clicks, contacts, domains, inboxes) are ignored. */
const MEANINGS: Record<string, Meaning> = {
  'email.sent': { kind: 'SENT', facts: () => ({}) },
  'email.delivered': { kind: 'DELIVERED', facts: () => ({}) },
  'email.delivery_delayed': { kind: 'DELAYED', facts: () => ({}) },
  'email.bounced': {
    kind: 'BOUNCED',
    facts: ({ bounce }) => ({
      bounceType: capitalised(bounce?.type ?? 'Permanent'),
      bounceSubType: bounce?.subType ?? 'General',
      diagnosticCode: [bounce?.diagnosticCode].flat().join('; ') || bounce?.message,
    }),
  },
  // Resend did not send it: the address is on Resend's own suppression list after an earlier bounce or complaint.
  'email.suppressed': {
    kind: 'BOUNCED',
    facts: ({ suppressed }) => ({
      bounceType: 'Permanent',
      bounceSubType: 'Suppressed',
      diagnosticCode: suppressed?.message,
    }),
  },
  'email.complained': {
    kind: 'COMPLAINED',
    facts: ({ complaint }) => ({
      feedbackType: complaint?.type ?? 'abuse',
      userAgent: complaint?.userAgent,
    }),
  },
  'email.failed': {
    kind: 'REJECTED',
    facts: ({ failed }) => ({
      reason: failed?.reason ?? 'Resend could not send it',
      errorCode: 'REJECT',
    }),
  },
}

export function readResendEvent(payload: string, receivedMs: number): ReadReport {
  const json = parseJson(payload)
  const named = namedSchema.safeParse(json)
  if (!named.success) return unreadable('It is not a JSON object with a type')
  const meaning = Object.hasOwn(MEANINGS, named.data.type) ? MEANINGS[named.data.type] : undefined
  if (!meaning) return ignored(named.data.type)
  const parsed = eventSchema.safeParse(json)
  if (!parsed.success) return unreadable(`${typeName(named.data.type)}: ${firstIssue(parsed.error)}`)
  const { type, created_at, data } = parsed.data
  const tags = tagsOf(data)
  const sentTo = [data.to ?? []].flat().map(bareAddress)
  const at = instantOf(created_at, receivedMs)
  const about = meaning.kind === 'SENT' || meaning.kind === 'REJECTED' || meaning.kind === 'DELAYED' ? [null] : sentTo
  const items = about.map(
    (recipient): ReportItem => ({
      kind: meaning.kind,
      recipient,
      at,
      feedbackId: null,
      metadata: maskedFacts(meaning.facts(data)),
    }),
  )
  return {
    kind: 'report',
    report: {
      type: typeName(type),
      messageId: data.email_id,
      outboxId: uuidIn(tags.outbox_id),
      attemptId: uuidIn(tags.attempt_id),
      tagged: Object.keys(tags).length > 0,
      sentTo,
      items,
    },
  }
}

function tagsOf({ tags }: ResendEvent['data']): Record<string, string | null | undefined> {
  if (Array.isArray(tags)) return Object.fromEntries(tags.map(({ name, value }) => [name, value]))
  return tags ?? {}
}

const capitalised = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()
