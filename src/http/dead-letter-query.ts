import { z } from 'zod'
import { deadLetterFilterFields } from '../contracts/bulk-actions.ts'
import { DEAD_LETTER_PAGE } from '../contracts/dead-letter-view.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { isUuid } from '../contracts/uuid.ts'
import type { DeadLetterCursor, DeadLetterFilter } from '../db/outbox/dead-letters.ts'
import { invalidField } from './problem.ts'

export const filterQuery = z.object(deadLetterFilterFields)
export const pageQuery = z.object({
  ...deadLetterFilterFields,
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(DEAD_LETTER_PAGE).default(50),
})
export const exportQuery = z.object({ ...deadLetterFilterFields, format: z.enum(['csv', 'jsonl']).default('csv') })

export function toFilter(query: z.output<typeof filterQuery>): DeadLetterFilter {
  const { company = null, code = null, status = null, since = null, until = null } = query
  return { companyId: company, code, status, since, until }
}

export const toCursor = ({ movedAt, outboxId }: DeadLetterCursor) => `${movedAt}_${outboxId}`

export function fromCursor(cursor: string | undefined): DeadLetterCursor | null {
  if (cursor === undefined) return null
  const [movedAt = '', outboxId = ''] = cursor.split('_')
  if (rangeEndSchema.safeParse(movedAt).success && isUuid(outboxId)) return { movedAt, outboxId }
  throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
}
