import { z } from 'zod'
import { invalidField } from '../../web/problem.ts'

export const idParams = z.object({ id: z.string() })

/** The part of a route's schema that OpenAPI shows. The answers are those of Resend; see docs/resend.md. */
export const described = <Rest extends object>(summary: string, rest: Rest = {} as Rest) => ({
  summary,
  tags: ['Resend-compatible'],
  ...rest,
})

/** Lists are newest first: `after` continues with what is older than this id, `before` goes back to what is newer. */
export const pageQuery = z
  .object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    after: z.string().max(200).optional(),
    before: z.string().max(200).optional(),
  })
  .refine(query => query.after === undefined || query.before === undefined, {
    path: ['before'],
    message: 'cannot be combined with after',
  })

export type PageQuery = z.output<typeof pageQuery>

export const page = <Item>(data: Item[], hasMore: boolean) => ({ object: 'list' as const, has_more: hasMore, data })

/** For lists that are short enough to be read whole. */
export function pageOf<Item extends { id: string }>(items: Item[], { limit, after, before }: PageQuery) {
  if (before !== undefined) {
    const newer = items.slice(0, placeOf(items, before, 'before'))
    return page(newer.slice(-limit), newer.length > limit)
  }
  const older = after === undefined ? items : items.slice(placeOf(items, after, 'after') + 1)
  return page(older.slice(0, limit), older.length > limit)
}

function placeOf(items: { id: string }[], id: string, parameter: string): number {
  const place = items.findIndex(item => item.id === id)
  if (place < 0) throw invalidField(parameter, 'is not an id of this list', 'INVALID_CURSOR')
  return place
}
