import { z } from 'zod'
import { parseBareAddress } from './addresses.ts'

/** Seed 001, "Valores Padrão". */
export const EMAIL_JOB_CONFIG = {
  QUEUE_NAME: 'email:send',
  DEFAULT_TTL: 86400000,
  DEFAULT_PRIORITY: 5,
  MAX_ATTEMPTS: 5,
  BACKOFF_DELAYS: [1, 5, 30, 120, 600],
  DLQ_TTL: 604800000,
} as const

/** BullMQ refuses a colon in a queue's name; the job's name stays EMAIL_JOB_CONFIG.QUEUE_NAME (decision 1). */
export const BULLMQ_QUEUE_NAME = 'email-send'

const address = z
  .string()
  .max(254)
  .refine(text => parseBareAddress(text).ok, 'must be an e-mail address')
const name = z.string().regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must not contain line breaks or control characters')
const instant = z.iso.datetime({ offset: true })

/** Seed 001, "Payload Detalhado". Unknown fields are dropped, so a CPF in clear does not travel on. */
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

/** Throws a ZodError that names the fields, or one of seed 001's two messages. */
export function validateEmailJobData(data: unknown): EmailSendJobData {
  const parsed = emailSendJobDataSchema.parse(data)
  const { recipientId, externalId, cpfCnpjHash, email } = parsed.recipient
  if (normalised(email) !== normalised(parsed.to)) throw new Error('recipient.email must match to')
  if (!recipientId && !externalId && !cpfCnpjHash) throw new Error('At least one recipient identifier required')
  return parsed
}

/** The same mailbox may be spelled in two ways (decision 17). */
function normalised(text: string): string {
  const parsed = parseBareAddress(text)
  return parsed.ok ? parsed.value.normalised : text
}

/** Seed 001, "Opções de Configuração". */
export interface EmailSendJobOptions {
  /** = outboxId */
  jobId: string
  /** Milliseconds. BullMQ ignores it; `expires_at` in Postgres keeps the promise (decision 2). */
  ttl: number
  /** 1–10 */
  priority?: number
  /** Milliseconds. */
  delay?: number
  removeOnComplete?: boolean
  removeOnFail?: boolean
}

/** What processing a job came to. SENT and ALREADY_SENT as seed 001 shows them, the rest are seed 000's other ends. */
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

/** What travels through Redis: identifiers only; the worker reads the rest (decision 11). */
export type SlimJobData = {
  outboxId: string
  companyId: string
  requestId: string
  htmlRef: string
  attempt: number
  enqueuedAt: string
}

/** How each of them travels: tried once, and gone whatever came of it. */
export const SLIM_JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const
