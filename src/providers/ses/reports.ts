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
  typeName,
  unreadable,
  uuidIn,
} from '../report.ts'

const text = z.string().nullish()
const recipients = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.array(z.looseObject({ emailAddress: z.string().max(1000), ...shape })).max(MAX_RECIPIENTS)

const mailSchema = z.looseObject({
  messageId: z.string().min(1).max(300),
  timestamp: text,
  destination: z.array(z.string().max(1000)).max(MAX_RECIPIENTS).nullish(),
  tags: z.record(z.string(), z.array(z.string())).nullish(),
  headers: z.array(z.looseObject({ name: z.string(), value: text })).nullish(),
})

/** Event publishing has eventType, identity notifications have notificationType; the rest is the same. */
const eventSchema = z.looseObject({
  eventType: text,
  notificationType: text,
  mail: mailSchema,
  bounce: z
    .looseObject({
      bounceType: text,
      bounceSubType: text,
      bouncedRecipients: recipients({ action: text, status: text, diagnosticCode: text }),
      timestamp: text,
      feedbackId: text,
      reportingMTA: text,
    })
    .nullish(),
  complaint: z
    .looseObject({
      complainedRecipients: recipients({}),
      timestamp: text,
      feedbackId: text,
      userAgent: text,
      complaintFeedbackType: text,
      complaintSubType: text,
      arrivalDate: text,
    })
    .nullish(),
  delivery: z
    .looseObject({
      timestamp: text,
      recipients: z.array(z.string().max(1000)).max(MAX_RECIPIENTS).nullish(),
      processingTimeMillis: z.number().nullish(),
      smtpResponse: text,
      reportingMTA: text,
    })
    .nullish(),
  reject: z.looseObject({ reason: text }).nullish(),
  deliveryDelay: z
    .looseObject({ timestamp: text, delayType: text, delayedRecipients: recipients({}).nullish() })
    .nullish(),
  failure: z.looseObject({ templateName: text, errorMessage: text }).nullish(),
})

const namedSchema = z.looseObject({ eventType: text, notificationType: text })

type SesEvent = z.infer<typeof eventSchema>
type Mail = SesEvent['mail']

/** By event type. Other types (opens, clicks, subscriptions) are ignored. */
const READERS: Record<string, (event: SesEvent, receivedMs: number) => ReportItem[] | null | undefined> = {
  Send: ({ mail }, receivedMs) => [
    { kind: 'SENT', recipient: null, at: instantOf(mail.timestamp, receivedMs), feedbackId: null, metadata: {} },
  ],
  Delivery: ({ mail, delivery }, receivedMs) => delivery && deliveries(mail, delivery, receivedMs),
  Bounce: ({ bounce }, receivedMs) => bounce && bounces(bounce, receivedMs),
  Complaint: ({ complaint }, receivedMs) => complaint && complaints(complaint, receivedMs),
  Reject: ({ mail, reject }, receivedMs) => [
    rejection(mail, 'REJECT', reject?.reason ?? 'Rejected by Amazon SES', receivedMs),
  ],
  'Rendering Failure': ({ mail, failure }, receivedMs) => [
    rejection(
      mail,
      'RENDERING_FAILURE',
      failure?.errorMessage ?? 'Amazon SES could not render the template',
      receivedMs,
    ),
  ],
  DeliveryDelay: ({ mail, deliveryDelay }, receivedMs) => [
    {
      kind: 'DELAYED',
      recipient: null,
      at: instantOf(deliveryDelay?.timestamp ?? mail.timestamp, receivedMs),
      feedbackId: null,
      metadata: maskedFacts({ delayType: deliveryDelay?.delayType }),
    },
  ],
}

const SETUP_SENTENCE = /^Successfully validated SNS topic/

export function readSesEvent(payload: string, receivedMs: number): ReadReport {
  // SES publishes this sentence when an event destination is created. All its other messages are JSON.
  if (SETUP_SENTENCE.test(payload)) return ignored('TopicValidated')
  const json = parseJson(payload)
  if (json === undefined) return unreadable('It is not JSON')
  const named = namedSchema.safeParse(json)
  const type = named.success ? (named.data.eventType ?? named.data.notificationType) : null
  if (!type) return unreadable('It has neither eventType nor notificationType')
  const read = Object.hasOwn(READERS, type) ? READERS[type] : undefined
  if (!read) return ignored(type)
  const parsed = eventSchema.safeParse(json)
  if (!parsed.success) return unreadable(`${typeName(type)}: ${firstIssue(parsed.error)}`)
  const items = read(parsed.data, receivedMs)
  if (!items) return unreadable(`${typeName(type)} without its details`)
  const { mail } = parsed.data
  const tags = tagsOf(mail)
  return {
    kind: 'report',
    report: {
      type: typeName(type),
      messageId: mail.messageId,
      outboxId: uuidIn(tags.outbox_id),
      attemptId: uuidIn(tags.attempt_id),
      tagged: mail.tags !== undefined && mail.tags !== null,
      sentTo: (mail.destination ?? []).map(bareAddress),
      items,
    },
  }
}

/** Event publishing includes the tags. Identity notifications include at most the headers, which may contain tags set over SMTP. */
function tagsOf({ tags, headers }: Mail): Record<string, string | undefined> {
  if (tags) return Object.fromEntries(Object.entries(tags).map(([name, values]) => [name, values[0]]))
  const header = headers?.find(({ name }) => name.toLowerCase() === 'x-ses-message-tags')?.value ?? ''
  return Object.fromEntries(header.split(',').map(pair => pair.trim().split('=', 2)))
}

function deliveries(mail: Mail, delivery: NonNullable<SesEvent['delivery']>, receivedMs: number): ReportItem[] {
  const { recipients, timestamp, smtpResponse, processingTimeMillis, reportingMTA } = delivery
  const at = instantOf(timestamp, receivedMs)
  return (recipients ?? mail.destination ?? []).map(recipient => ({
    kind: 'DELIVERED',
    recipient: bareAddress(recipient),
    at,
    feedbackId: null,
    metadata: maskedFacts({ smtpResponse, processingTimeMs: processingTimeMillis, reportingMTA }),
  }))
}

function bounces(bounce: NonNullable<SesEvent['bounce']>, receivedMs: number): ReportItem[] {
  const { bounceType, bounceSubType, bouncedRecipients, timestamp, feedbackId, reportingMTA } = bounce
  const at = instantOf(timestamp, receivedMs)
  return bouncedRecipients.map(({ emailAddress, action, status, diagnosticCode }) => ({
    kind: 'BOUNCED',
    recipient: bareAddress(emailAddress),
    at,
    feedbackId: feedbackId ?? null,
    metadata: maskedFacts({
      bounceType: bounceType ?? 'Undetermined',
      bounceSubType: bounceSubType ?? 'Undetermined',
      ...{ diagnosticCode, action, status, feedbackId, reportingMTA },
    }),
  }))
}

function complaints(complaint: NonNullable<SesEvent['complaint']>, receivedMs: number): ReportItem[] {
  const { complainedRecipients, timestamp, feedbackId, userAgent, arrivalDate, complaintSubType } = complaint
  const at = instantOf(timestamp, receivedMs)
  return complainedRecipients.map(({ emailAddress }) => ({
    kind: 'COMPLAINED',
    recipient: bareAddress(emailAddress),
    at,
    feedbackId: feedbackId ?? null,
    metadata: maskedFacts({
      feedbackType: complaint.complaintFeedbackType,
      arrivalDate: instantOf(arrivalDate, receivedMs),
      ...{ userAgent, feedbackId, complaintSubType },
    }),
  }))
}

function rejection(mail: Mail, code: string, reason: string, receivedMs: number): ReportItem {
  const at = instantOf(mail.timestamp, receivedMs)
  const metadata = maskedFacts({ reason, errorCode: code })
  return { kind: 'REJECTED', recipient: null, at, feedbackId: null, metadata }
}
