import { z } from 'zod'
import { parseBareAddress } from '../platform/text/addresses.ts'

/**
 * The names and values are part of the published contract. The gateway itself uses QUEUE_NAME only: delays are in
 * RETRY_POLICIES (retry.ts), the defaults of a request in send-body.ts, retention in settings.ts.
 */
export const EMAIL_JOB_CONFIG = {
  QUEUE_NAME: 'email:send',
  DEFAULT_TTL: 86400000,
  DEFAULT_PRIORITY: 5,
  MAX_ATTEMPTS: 5,
  BACKOFF_DELAYS: [1, 5, 30, 120, 600],
  DLQ_TTL: 604800000,
} as const

/** BullMQ refuses a colon in a queue name; the name of each job is EMAIL_JOB_CONFIG.QUEUE_NAME. */
export const BULLMQ_QUEUE_NAME = 'email-send'

const address = z
  .string()
  .max(254)
  .refine(text => parseBareAddress(text).ok, 'must be an e-mail address')
const name = z.string().regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must not contain line breaks or control characters')
const instant = z.iso.datetime({ offset: true })

/** Unknown fields are dropped, so that an unhashed CPF does not travel on. The gateway's own jobs carry only `SlimJobData`. */
export const emailSendJobDataSchema = z.object({
  outboxId: z.guid(),
  companyId: z.guid(),
  requestId: z.string().min(1),
  to: address,
  cc: z.array(address).max(5).optional(),
  bcc: z.array(address).max(5).optional(),
  subject: z
    .string()
    .min(1)
    .max(150)
    .regex(/^[^\r\n]*$/, 'must not contain line breaks'),
  htmlRef: z.string().min(1),
  replyTo: address.optional(),
  headers: z.record(z.string(), z.string().regex(/^[^\r\n\0]*$/, 'must not contain line breaks')).optional(),
  tags: z.array(z.string()).max(5).optional(),
  recipient: z.object({
    recipientId: z.guid().optional(),
    externalId: z.string().optional(),
    cpfCnpjHash: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, 'must be 64 hexadecimal digits')
      .optional(),
    razaoSocial: name.optional(),
    nome: name.optional(),
    email: address,
  }),
  attempt: z.int().min(1).max(EMAIL_JOB_CONFIG.MAX_ATTEMPTS),
  enqueuedAt: instant,
})

export type EmailSendJobData = z.infer<typeof emailSendJobDataSchema>

/** Throws a ZodError that names the invalid fields, or an Error about the recipient. */
export function validateEmailJobData(data: unknown): EmailSendJobData {
  const parsed = emailSendJobDataSchema.parse(data)
  const { recipientId, externalId, cpfCnpjHash, email } = parsed.recipient
  if (normalised(email) !== normalised(parsed.to)) throw new Error('recipient.email must match to')
  if (!recipientId && !externalId && !cpfCnpjHash) throw new Error('At least one recipient identifier required')
  return parsed
}

/** `to` and `recipient.email` may spell the same mailbox differently (case, international domain). */
function normalised(text: string): string {
  const parsed = parseBareAddress(text)
  return parsed.ok ? parsed.value.normalised : text
}

export interface EmailSendJobOptions {
  /** The outboxId. */
  jobId: string
  /** Milliseconds. BullMQ ignores it: `expires_at` in Postgres decides when an e-mail expires. */
  ttl: number
  /** 1–10 */
  priority?: number
  /** Milliseconds. */
  delay?: number
  removeOnComplete?: boolean
  removeOnFail?: boolean
}

/** What the published contract returns for a job. The gateway's own worker returns nothing: the outcome is in Postgres. */
export type EmailSendJobResult =
  | { status: 'SENT'; sesMessageId: string; processedAt: string; durationMs: number; attempt: number }
  | { status: 'ALREADY_SENT'; sesMessageId: string | null }
  | {
      status: 'RETRY_SCHEDULED' | 'UNKNOWN' | 'REJECTED' | 'FAILED' | 'DLQ' | 'EXPIRED'
      errorCode: string
      errorReason: string
      processedAt: string
      durationMs: number
      attempt: number
    }

/** The job in Redis holds identifiers only: content and addresses stay in Postgres, where the worker reads them. */
export type SlimJobData = {
  outboxId: string
  companyId: string
  requestId: string
  htmlRef: string
  attempt: number
  enqueuedAt: string
}

/** One attempt, then removed: retries are decided in Postgres, not by BullMQ. */
export const SLIM_JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const
