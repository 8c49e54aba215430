import {
  type DeadLetter,
  type DeadLetterCursor,
  type DeadLetterFilter,
  listDeadLetters,
} from '../outbox/dead-letters.ts'
import type { Queryable } from '../platform/postgres/query.ts'

const PAGE = 500

/** Reads page by page: the export may be larger than memory. */
export async function* everyDeadLetter(
  db: Queryable,
  filter: DeadLetterFilter,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<DeadLetter> {
  let after: DeadLetterCursor | null = null
  let left = limit
  do {
    const page: Awaited<ReturnType<typeof listDeadLetters>> = await listDeadLetters(db, filter, {
      after,
      limit: Math.min(PAGE, left),
    })
    yield* page.entries
    left -= page.entries.length
    after = page.nextCursor
  } while (after !== null && left > 0)
}
