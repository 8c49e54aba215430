import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { CSV_RULES } from '../platform/text/refusal.ts'
import { isUuid } from '../platform/text/uuid.ts'

export const BULK_ACTION_KINDS = ['replay-dead-letters', 'purge-dead-letters', 'import-suppressions'] as const
export type BulkActionKind = (typeof BULK_ACTION_KINDS)[number]

/** stopped: by an administrator. failed: a batch ended with an error again and again. */
const BULK_ACTION_STATES = ['waiting', 'running', 'stopped', 'done', 'failed'] as const

/**
 * What can become of one item. held: somebody else had it locked for too long. notFound: it is no dead letter any more. raised: an entry of
 * the suppression list got a more severe reason or a later end.
 */
const BULK_OUTCOMES = {
  done: ['replayed', 'purged', 'added', 'raised', 'unchanged'],
  failed: ['payloadPurged', 'notFound', 'held', 'refused'],
} as const
type BulkOutcome = (typeof BULK_OUTCOMES)['done' | 'failed'][number]
export type BulkCounts = Partial<Record<BulkOutcome, number>>

export const BULK_LIMITS = {
  IDS: 1_000,
  CSV_BYTES: 5 * 1024 * 1024,
  CSV_LINES: 100_000,
  PROBLEMS: 100,
  PAGE: 100,
} as const

const DEAD_LETTER_STATUSES = ['REJECTED', 'FAILED', 'DLQ'] as const

/** In a query string and in the body of a bulk action. */
export const deadLetterFilterFields = {
  company: z.uuid().optional(),
  code: z
    .string()
    .min(1)
    .max(200)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional()
    .describe("The gateway's error code, or the provider's"),
  status: z.enum(DEAD_LETTER_STATUSES).optional().describe('Of the e-mail'),
  since: rangeEndSchema.optional().describe('Dead since that time'),
  until: rangeEndSchema.optional(),
}

const deadLetterSelection = {
  reason: justificationSchema,
  outboxIds: z
    .array(z.string().refine(isUuid, 'must be the id of an e-mail'))
    .min(1)
    .max(BULK_LIMITS.IDS)
    .optional()
    .describe('These e-mails'),
  filter: z
    .strictObject(deadLetterFilterFields)
    .optional()
    .describe('All that match and exist now; {} is every dead letter'),
}

const isOneSelection = (body: { outboxIds?: unknown; filter?: unknown }) =>
  (body.outboxIds === undefined) !== (body.filter === undefined)

export const newBulkActionSchema = z
  .discriminatedUnion('kind', [
    z
      .strictObject({ kind: z.literal('replay-dead-letters'), ...deadLetterSelection })
      .refine(isOneSelection, 'give outboxIds or filter'),
    z
      .strictObject({ kind: z.literal('purge-dead-letters'), ...deadLetterSelection })
      .refine(isOneSelection, 'give outboxIds or filter'),
    z.strictObject({
      kind: z.literal('import-suppressions'),
      reason: justificationSchema,
      csv: z
        .string()
        .min(1)
        .max(BULK_LIMITS.CSV_BYTES)
        .describe(
          `Columns: reason and email or email_hash; optional: expires_at, company. At most ${BULK_LIMITS.CSV_LINES} lines`,
        ),
      company: z.uuid().optional().describe('For lines without a company; the global list when left out'),
    }),
  ])
  .meta({
    id: 'NewBulkAction',
    example: {
      kind: 'replay-dead-letters',
      reason: 'The provider works again',
      filter: { code: 'SES_THROTTLED' },
    },
  })
export type NewBulkActionBody = z.output<typeof newBulkActionSchema>

const count = z.int().min(0)
const time = z.iso.datetime()

export const bulkActionSchema = z
  .object({
    actionId: z.uuid(),
    kind: z.enum(BULK_ACTION_KINDS),
    selection: z
      .object({
        company: z.string().nullish(),
        code: z.string().nullish(),
        status: z.string().nullish(),
        since: z.string().nullish(),
        until: z.string().nullish(),
        chosen: count.optional().describe('So many e-mails by their ids'),
        lines: count.optional().describe('So many lines of an imported file'),
      })
      .describe('The filter, as it was when the action was asked for'),
    requestedBy: z.string(),
    reason: z.string(),
    state: z.enum(BULK_ACTION_STATES),
    total: count,
    done: count,
    failed: count.describe('Could not be done'),
    counts: z.record(z.string(), count).describe('What became of them, by outcome'),
    problems: z
      .array(z.object({ line: z.int(), problem: z.string(), rule: z.enum(CSV_RULES).optional() }))
      .describe('The first refused lines of an imported file'),
    lastError: z.string().nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    updatedAt: time,
    finishedAt: time.nullable(),
  })
  .meta({ id: 'BulkAction' })
export type BulkAction = z.output<typeof bulkActionSchema>

/** How many of these count as done, and how many as failed. */
export function sumOutcomes(counts: BulkCounts): { done: number; failed: number } {
  const sum = (outcomes: readonly BulkOutcome[]) => outcomes.reduce((total, one) => total + (counts[one] ?? 0), 0)
  return { done: sum(BULK_OUTCOMES.done), failed: sum(BULK_OUTCOMES.failed) }
}
