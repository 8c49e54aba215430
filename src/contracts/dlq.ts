import { z } from 'zod'
import { EMAIL_JOB_RETRY_CONFIG } from './retry.ts'

const instant = z.iso.datetime({ offset: true })

/** Seed 002's entry. `failedAttempts` starts at 1, since a permanent error dies on its first attempt (decision 8). */
export const dlqEntrySchema = z.object({
  jobId: z.guid(),
  outboxId: z.guid(),
  companyId: z.guid(),
  originalData: z.record(z.string(), z.unknown()),
  failedAttempts: z.int().min(1),
  lastFailureReason: z.string().refine(reason => reason.trim() !== '', 'lastFailureReason is required'),
  lastFailureCode: z.string().optional(),
  /** What the provider called it. */
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

/** Throws a ZodError that names the fields; the one for `lastFailureReason` is what TASK 3.2 demands. */
export function validateDLQEntry(entry: unknown): DLQEntry {
  return dlqEntrySchema.parse(entry)
}
