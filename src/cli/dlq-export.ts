import {
  type DeadLetter,
  type DeadLetterCursor,
  type DeadLetterFilter,
  listDeadLetters,
} from '../db/outbox/dead-letters.ts'
import type { Queryable } from '../db/query.ts'
import { asJson, counting, writeToFile } from './stream-out.ts'

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

/** Returns the number of entries written. */
export async function exportToFile(file: string, entries: AsyncIterable<DeadLetter>): Promise<number> {
  let exported = 0
  const counted = counting(entries, count => {
    exported = count
  })
  await writeToFile(file, asJson(counted, 'lines'))
  return exported
}
