import { z } from 'zod'
import { rangeEndSchema } from '../contracts/instant.ts'
import { SUPPRESSION_REASONS } from '../contracts/suppression/rules.ts'
import { SUPPRESSION_LIMITS } from '../contracts/suppression/view.ts'
import { isUuid } from '../contracts/uuid.ts'
import {
  SUPPRESSION_ORDERS,
  SUPPRESSION_SORTS,
  type SuppressionCursor,
  type SuppressionFilter,
  type SuppressionOrder,
} from '../db/suppression/reads.ts'
import { invalidField } from './problem.ts'
import { hashOrProblem } from './routes-suppression.ts'

/** `global`, or the id of a company. */
export const listSchema = z
  .string()
  .toLowerCase()
  .refine(text => text === 'global' || isUuid(text), 'must be the id of a company, or global')

const fields = {
  reason: z.enum(SUPPRESSION_REASONS).optional(),
  company: listSchema.optional().describe('A company, or global'),
  search: z
    .string()
    .max(320)
    .optional()
    .describe('A hash, its first digits (four or more), or an address; POST keeps an address out of URLs'),
  addedAfter: rangeEndSchema.optional(),
  addedBefore: rangeEndSchema.optional(),
  expiresAfter: rangeEndSchema.optional().describe('Includes what never expires'),
  expiresBefore: rangeEndSchema.optional(),
  expires: z.enum(['never']).optional(),
  sort: z.enum(SUPPRESSION_SORTS).default('addedAt'),
  order: z.enum(SUPPRESSION_ORDERS).default('desc'),
  cursor: z.string().max(200).optional(),
}
const limit = { min: 1, max: SUPPRESSION_LIMITS.PAGE, usual: 50 }

export const pageQuery = z.object({
  ...fields,
  limit: z.coerce.number().int().min(limit.min).max(limit.max).default(limit.usual),
})
export const pageBody = z
  .strictObject({ ...fields, limit: z.int().min(limit.min).max(limit.max).default(limit.usual) })
  .meta({ id: 'SearchSuppressions', example: { reason: 'HARD_BOUNCE', limit: 50 } })
export type PageQuery = z.output<typeof pageQuery>

export function toFilter(query: PageQuery): SuppressionFilter {
  return {
    reason: query.reason ?? null,
    list: query.company === undefined ? null : { companyId: query.company === 'global' ? null : query.company },
    hash: query.search === undefined ? null : { prefix: searchPrefix(query.search.trim()) },
    addedAfter: query.addedAfter ?? null,
    addedBefore: query.addedBefore ?? null,
    expiresAfter: query.expiresAfter ?? null,
    expiresBefore: query.expiresBefore ?? null,
    never: query.expires === 'never',
  }
}

/** Lists show hashes abbreviated, so the search accepts a prefix with or without an ellipsis. */
const HASH_PREFIX = /^(?:sha256:)?([0-9a-f]{4,64})(?:\.{3}|…)?$/i

function searchPrefix(text: string): string {
  const [, digits] = HASH_PREFIX.exec(text) ?? []
  return digits ? `sha256:${digits.toLowerCase()}` : hashOrProblem(text, 'search')
}

/** The cursor contains the sort order: with another order it would silently skip entries. */
export function toCursor({ sort, order }: SuppressionOrder, { key, id }: SuppressionCursor): string {
  return Buffer.from([sort, order, key, id].join(' ')).toString('base64url')
}

export function fromCursor(cursor: string | undefined, { sort, order }: SuppressionOrder): SuppressionCursor | null {
  if (cursor === undefined) return null
  const [cursorSort, cursorOrder, key = '', id = '', ...rest] = Buffer.from(cursor, 'base64url')
    .toString('utf8')
    .split(' ')
  const isKey = key === 'infinity' || rangeEndSchema.safeParse(key).success
  if (cursorSort === sort && cursorOrder === order && isKey && isUuid(id) && rest.length === 0) return { key, id }
  throw invalidField('cursor', 'is not a cursor of this list in this order', 'INVALID_CURSOR')
}
