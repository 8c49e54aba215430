import { z } from 'zod'
import { EMAIL_JOB_RETRY_CONFIG } from '../settings/retry.ts'

const instant = z.iso.datetime({ offset: true })

/** `failedAttempts` starts at 1, because a permanent error makes a dead letter after the first attempt. */
export const dlqEntrySchema = z.object({
  jobId: z.guid(),
  outboxId: z.guid(),
  companyId: z.guid(),
  originalData: z.record(z.string(), z.unknown()),
  failedAttempts: z.int().min(1),
  lastFailureReason: z.string().refine(reason => reason.trim() !== '', 'lastFailureReason is required'),
  lastFailureCode: z.string().optional(),
  /** The provider's own error code. */
  providerCode: z.string().optional(),
  lastFailureTimestamp: instant,
  enqueuedAt: instant,
  movedToDLQAt: instant,
  ttl: z.int().positive().default(EMAIL_JOB_RETRY_CONFIG.DLQ_TTL_MS),
  retryHistory: z
    .array(
      z.object({ attempt: z.int().min(1), timestamp: instant, error: z.string(), providerCode: z.string().nullish() }),
    )
    .optional(),
})

export type DLQEntry = z.infer<typeof dlqEntrySchema>

/** Throws a ZodError that names the invalid fields. */
export function validateDLQEntry(entry: unknown): DLQEntry {
  return dlqEntrySchema.parse(entry)
}
