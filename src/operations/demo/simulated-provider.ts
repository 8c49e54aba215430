import { setTimeout as sleep } from 'node:timers/promises'
import type { IncomingEvent } from '../../outbox/provider-events.ts'
import { classifyProviderError, type ProviderError } from '../../providers/errors/classify.ts'
import { bareAddress } from '../../providers/mime.ts'
import type { OutgoingMessage, Provider, ProviderEvent, SendResult } from '../../providers/provider.ts'
import { DEAD_MAILBOX, OLD_LIST_DOMAIN, SILENT_MAILBOX } from './companies.ts'

type Failure = Omit<ProviderError, 'provider'>
type Report = Omit<ProviderEvent, 'recipient'>

const RESET: Failure = { networkCode: 'ECONNRESET', message: 'The connection was reset before the answer arrived.' }

/** How often each answer is given, out of 1 000 calls. The rest is accepted. */
const FAILURES: [share: number, failure: Failure][] = [
  [8, { name: 'ServiceUnavailable', message: 'The service is temporarily unavailable.' }],
  [5, { name: 'MessageRejected', message: 'Email address is not verified.' }],
  [3, RESET],
  [2, { name: 'Throttling', message: 'Maximum sending rate exceeded.' }],
]
const OUTAGE: Failure = { name: 'ServiceUnavailable', message: 'Service is unavailable (simulated outage).' }
const MAILBOX_OFF: Failure = { name: 'ServiceUnavailable', message: 'The receiving domain does not answer.' }

const DELIVERED: Report = { kind: 'DELIVERED', metadata: { smtpResponse: '250 2.0.0 OK' } }
const HARD_BOUNCE: Report = {
  kind: 'BOUNCED',
  metadata: { bounceType: 'Permanent', bounceSubType: 'General', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
}
const SOFT_BOUNCE: Report = {
  kind: 'BOUNCED',
  metadata: { bounceType: 'Transient', bounceSubType: 'MailboxFull', diagnosticCode: 'smtp; 452 4.2.2 mailbox full' },
}
const COMPLAINT: Report = { kind: 'COMPLAINED', metadata: { feedbackType: 'abuse', userAgent: 'Demo feedback loop' } }

/** What is reported about a recipient, out of 1 000. The rest is delivered; nothing is reported about some, as in real life. */
const REPORTS: [share: number, reports: Report[]][] = [
  [3, [HARD_BOUNCE]],
  [6, [SOFT_BOUNCE]],
  [60, []],
]
const REPORTS_OF_OLD_LIST: [share: number, reports: Report[]][] = [
  [60, [HARD_BOUNCE]],
  [20, [DELIVERED, COMPLAINT]],
]

const LATENCY_MS = { least: 40, most: 260 }
const REPORT_MS = { least: 400, most: 4_000 }
const QUOTA_PER_SECOND = 25

type SimulatedDeps = {
  name: string
  /** Takes what is accepted, so that the inbox shows it. */
  capture: Provider
  isOut: () => boolean
  /** Called some time after the message was accepted. */
  report: (message: OutgoingMessage, messageId: string, events: ProviderEvent[]) => void
  random: () => number
}

/** Amazon SES as an application meets it: it is fast, and now and then slow, busy, down or strict. Nothing leaves the machine. */
export function simulatedProvider({ name, capture, isOut, report, random }: SimulatedDeps): Provider {
  const failed = (failure: Failure): SendResult => ({
    kind: 'failed',
    failure: classifyProviderError({ provider: 'ses', ...failure }),
  })
  const between = ({ least, most }: { least: number; most: number }) => least + random() * (most - least)
  return {
    name,
    recognisesAttempts: true,
    close: async () => {},
    learnQuota: async () => ({ recipientsPerSecond: QUOTA_PER_SECOND, paused: null }),
    async send(message, signal): Promise<SendResult> {
      await sleep(between(LATENCY_MS), undefined, { signal })
      if (isOut()) return failed(OUTAGE)
      const recipients = [...message.to, ...message.cc, ...message.bcc].map(bareAddress)
      if (recipients.includes(DEAD_MAILBOX)) return failed(MAILBOX_OFF)
      if (recipients.includes(SILENT_MAILBOX)) return failed(RESET)
      const failure = pick(FAILURES, random)
      if (failure) return failed(failure)
      const captured = await capture.send(message, signal)
      if (captured.kind !== 'sent') return captured
      const messageId = sesMessageId(captured.messageId)
      const events = recipients.flatMap(recipient =>
        reportsOn(recipient, random).map(event => ({ ...event, recipient })),
      )
      setTimeout(() => report(message, messageId, events), between(REPORT_MS)).unref()
      return { kind: 'sent', messageId, events: [] }
    },
  }
}

function reportsOn(recipient: string, random: () => number): Report[] {
  const reports = recipient.endsWith(`@${OLD_LIST_DOMAIN}`) ? REPORTS_OF_OLD_LIST : REPORTS
  return pick(reports, random) ?? [DELIVERED]
}

function pick<T>(choices: [share: number, choice: T][], random: () => number): T | undefined {
  let drawn = random() * 1_000
  for (const [share, choice] of choices) {
    if (drawn < share) return choice
    drawn -= share
  }
  return undefined
}

/** The form of Amazon SES. The same message of the inbox has the same id. */
export const sesMessageId = (capturedId: string) => `0100${capturedId.replace('capture-', '')}-000000`

/** An event as Amazon SES publishes it. */
export function sesEvent(message: OutgoingMessage, messageId: string, event: ProviderEvent): IncomingEvent {
  const { outboxId, attemptId } = message
  const timestamp = new Date().toISOString()
  const mail = {
    messageId,
    timestamp,
    destination: [...message.to, ...message.cc, ...message.bcc],
    tags: { outbox_id: [outboxId], attempt_id: [attemptId] },
  }
  return {
    provider: 'ses',
    externalId: `${attemptId}:${event.kind}:${event.recipient}`,
    payload: JSON.stringify({ mail, ...detailsOf(event, timestamp) }),
  }
}

function detailsOf({ kind, recipient, metadata }: ProviderEvent, timestamp: string) {
  const { diagnosticCode, feedbackType, ...facts } = metadata
  switch (kind) {
    case 'DELIVERED':
      return { eventType: 'Delivery', delivery: { timestamp, recipients: [recipient], ...facts } }
    case 'BOUNCED':
      return {
        eventType: 'Bounce',
        bounce: { timestamp, bouncedRecipients: [{ emailAddress: recipient, diagnosticCode }], ...facts },
      }
    case 'COMPLAINED':
      return {
        eventType: 'Complaint',
        complaint: {
          timestamp,
          complainedRecipients: [{ emailAddress: recipient }],
          complaintFeedbackType: feedbackType,
          ...facts,
        },
      }
  }
}
