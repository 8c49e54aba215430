import { uuidv7 } from '../../platform/text/uuid.ts'
import { classifyProviderError } from '../errors/classify.ts'
import type { OutgoingMessage, Provider, ProviderEvent, SendResult } from '../provider.ts'
import type { CapturedMessage, CaptureItem } from './inbox.ts'

/**
 * Recipients at simulator.test for which capture simulates failures and provider events. Bounces and complaints suppress the address as real ones do;
 * use a new label (`bounce+anything@`) for an address that is not suppressed yet.
 */
const REFUSALS: Record<string, { name: string; message: string }> = {
  'unavailable@simulator.test': { name: 'ServiceUnavailable', message: 'The service is unavailable for now.' },
  'reject@simulator.test': { name: 'MessageRejected', message: 'Email address is not verified.' },
}

/** Throttled twice, then sent. */
const THROTTLED = 'throttle@simulator.test'
const THROTTLE_TIMES = 2
const THROTTLING = { name: 'Throttling', message: 'Maximum sending rate exceeded.' }

const DELIVERED: Omit<ProviderEvent, 'recipient'> = { kind: 'DELIVERED', metadata: { smtpResponse: '250 2.0.0 OK' } }

const FEEDBACK: Record<string, Omit<ProviderEvent, 'recipient'>[]> = {
  'delivered@simulator.test': [DELIVERED],
  'bounce@simulator.test': [
    {
      kind: 'BOUNCED',
      metadata: { bounceType: 'Permanent', bounceSubType: 'General', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
    },
  ],
  'soft-bounce@simulator.test': [
    {
      kind: 'BOUNCED',
      metadata: {
        bounceType: 'Transient',
        bounceSubType: 'MailboxFull',
        diagnosticCode: 'smtp; 452 4.2.2 mailbox full',
      },
    },
  ],
  'complaint@simulator.test': [
    DELIVERED,
    { kind: 'COMPLAINED', metadata: { feedbackType: 'abuse', userAgent: 'Simulator' } },
  ],
}

type CaptureStore = {
  put: (item: CaptureItem) => Promise<string>
  /** How often this e-mail was throttled so far, by any worker. */
  timesThrottled: (outboxId: string) => Promise<number>
}

/** Stores every message in the capture inbox instead of sending it. */
export function captureProvider({ put, timesThrottled }: CaptureStore): Provider {
  const refusalOf = async (addresses: string[], outboxId: string) => {
    const plain = addresses.map(withoutLabel)
    if (plain.includes(THROTTLED) && (await timesThrottled(outboxId)) < THROTTLE_TIMES) return THROTTLING
    return plain.map(address => REFUSALS[address]).find(Boolean)
  }
  return {
    name: 'capture',
    recognisesAttempts: true,
    close: async () => {},
    async send(message): Promise<SendResult> {
      const addresses = [...message.to, ...message.cc, ...message.bcc].map(lowerCaseAddress)
      const simulated = addresses.some(address => address.endsWith('@simulator.test'))
      const refusal = simulated ? await refusalOf(addresses, message.outboxId) : undefined
      if (refusal) return { kind: 'failed', failure: classifyProviderError({ provider: 'capture', ...refusal }) }
      const messageId = await put({
        messageId: `capture-${uuidv7()}`,
        attemptId: message.attemptId,
        outboxId: message.outboxId,
        companyId: message.companyId,
        message: toCaptured(message),
      })
      const events = addresses.flatMap(address =>
        (FEEDBACK[withoutLabel(address)] ?? []).map(event => ({ ...event, recipient: address })),
      )
      return { kind: 'sent', messageId, events }
    },
  }
}

function toCaptured(message: OutgoingMessage): CapturedMessage {
  const { from, to, cc, bcc, replyTo, subject, html, text, headers } = message
  const attachments = message.attachments.map(({ base64, ...file }) => ({
    ...file,
    bytes: Buffer.byteLength(base64, 'base64'),
  }))
  return { from, to, cc, bcc, replyTo, subject, html, text, headers, attachments }
}

/** `Name <a@b.c>` → a@b.c, lower case. */
function lowerCaseAddress(text: string): string {
  const open = text.lastIndexOf('<')
  return (open === -1 ? text : text.slice(open + 1, -1)).toLowerCase()
}

const withoutLabel = (address: string) => address.replace(/\+[^@]*(?=@simulator\.test$)/, '')
