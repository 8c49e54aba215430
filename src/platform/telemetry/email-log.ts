import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { maskEmail, maskSensitive } from '../text/masking.ts'
import { traceIdOf } from './tracing.ts'

/** The lines of an e-mail's life. docs/logs.md lists them, and a test compares. */
export const EMAIL_LINES = {
  accepted: { level: 'info', message: 'E-mail accepted' },
  refused: { level: 'warn', message: 'E-mail refused: its recipient is suppressed' },
  started: { level: 'debug', message: 'Attempt started' },
  sent: { level: 'info', message: 'E-mail sent' },
  retry: { level: 'warn', message: 'Attempt failed, retry scheduled' },
  dead: { level: 'error', message: 'E-mail moved to the dead letter queue' },
  unknown: { level: 'warn', message: 'Unknown send: the request left and no answer came' },
  'worker-lost': { level: 'warn', message: 'The worker was lost; the e-mail is ready again' },
  parked: { level: 'warn', message: 'The provider is parked; the e-mail waits' },
  throttled: {
    level: 'warn',
    message: 'The provider limits its send rate; the e-mail waits and spends no attempt',
  },
  unconnected: { level: 'warn', message: 'No connection to the provider; the e-mail waits and spends no attempt' },
  'cannot-repeat': {
    level: 'warn',
    message: 'Unknown send: the provider that could resolve it is parked or gone',
  },
  'must-not-repeat': {
    level: 'warn',
    message: 'Unknown send: the call is not repeated, because a recipient is suppressed by now',
  },
  late: { level: 'warn', message: 'The answer came after the lease had ended and resolved the unknown send' },
  'lease-lost': { level: 'warn', message: 'Lease lost: the answer of the provider changes nothing' },
  suppressed: { level: 'warn', message: 'Recipient suppressed before the e-mail was sent' },
  delivered: { level: 'info', message: 'E-mail delivered' },
  bounced: { level: 'warn', message: 'E-mail bounced' },
  complained: { level: 'warn', message: 'The recipient complained about the e-mail' },
  rejected: { level: 'error', message: 'The provider rejected the e-mail after it had accepted it' },
  expired: { level: 'warn', message: 'E-mail expired' },
  cancelled: { level: 'info', message: 'E-mail cancelled' },
} as const satisfies Record<string, { level: 'debug' | 'info' | 'warn' | 'error'; message: string }>

export type EmailLine = keyof typeof EMAIL_LINES

/** The e-mail that a line is about. Addresses are in clear here, and masked in the line. */
export type LoggedEmail = {
  outboxId: string
  companyId: string
  requestId: string
  externalId: string | null
  recipients: readonly { kind: 'to' | 'cc' | 'bcc'; address: string | null }[]
  recipientRecord: { cpfCnpjHash: string | null; email: string | null } | null
  traceparent: string | null
}

/** What happened, as far as the line knows it. */
export type EmailLineFields = {
  /** An event or status of the e-mail, in the words of docs/concepts.md. Absent where somebody else has decided it. */
  state?: string
  attempt?: number
  maxAttempts?: number
  provider?: string | null
  messageId?: string | null
  durationMs?: number
  errorCode?: string
  providerCode?: string
  errorReason?: string
  isRetryable?: boolean
  /** Milliseconds. */
  nextRetryDelay?: number
  graceSeconds?: number
  bounceType?: string
}

export type EmailLog = (line: EmailLine, email: LoggedEmail, facts: EmailLineFields) => void

/** `sample`: the share of e-mails whose ordinary lines are written. Warnings and errors are written for all of them. */
export function makeEmailLog(log: Logger, sample = 1): EmailLog {
  return (line, email, facts) => {
    const { level, message } = EMAIL_LINES[line]
    if (!log.isLevelEnabled(level)) return
    if ((level === 'info' || level === 'debug') && !isSampled(email.outboxId, sample)) return
    log[level](fieldsOf(email, facts), message)
  }
}

/** The same answer for the same id in every process, so that all lines of an e-mail are written, or none. */
export function isSampled(id: string, sample: number): boolean {
  return sample >= 1 || crc32(id) / 2 ** 32 < sample
}

/** The fields of every line of an e-mail. What is not known is left out. */
function fieldsOf(email: LoggedEmail, facts: EmailLineFields): object {
  const { outboxId, companyId, requestId, externalId, recipients, recipientRecord, traceparent } = email
  const fields: Record<string, unknown> = { outboxId, jobId: outboxId, companyId, requestId }
  // The company chooses it, and may choose a document or an address.
  if (externalId !== null) fields.externalId = maskSensitive(externalId)
  const to = recipients.find(one => one.kind === 'to')?.address
  if (to) fields.to = maskEmail(to)
  if (recipientRecord) fields.recipient = maskedRecipient(recipientRecord)
  Object.assign(fields, facts)
  // It may quote a template, or what a provider says.
  if (facts.errorReason !== undefined) fields.errorReason = maskSensitive(facts.errorReason)
  if (traceparent) fields.trace_id = traceIdOf(traceparent)
  return fields
}

const SHOWN_OF_HASH = 8

function maskedRecipient({ cpfCnpjHash, email }: NonNullable<LoggedEmail['recipientRecord']>): object {
  return {
    ...(cpfCnpjHash && { cpfCnpjHash: `${cpfCnpjHash.slice(0, SHOWN_OF_HASH)}...` }),
    ...(email && { email: maskEmail(email) }),
  }
}
