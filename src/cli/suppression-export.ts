import type { SuppressionRow } from '../contracts/suppression/view.ts'
import type { Queryable } from '../db/query.ts'
import { listSuppressions, type SuppressionCursor, type SuppressionFilter } from '../db/suppression/reads.ts'

const PAGE = 5_000

/** Oldest first, page by page: the list may be larger than memory, and entries added during the export come at the end. */
export async function* everySuppression(db: Queryable, filter: SuppressionFilter): AsyncGenerator<SuppressionRow> {
  let after: SuppressionCursor | null = null
  do {
    const page: Awaited<ReturnType<typeof listSuppressions>> = await listSuppressions(
      db,
      filter,
      { sort: 'addedAt', order: 'asc' },
      { after, limit: PAGE },
    )
    yield* page.entries
    after = page.next
  } while (after !== null)
}

/** The format that `import` reads. No field needs quoting: they are hashes, codes, times and ids. */
export async function* asCsv(entries: AsyncIterable<SuppressionRow>): AsyncGenerator<string> {
  let text = 'email_hash,reason,expires_at,company,added_at\n'
  let lines = 0
  for await (const { emailHash, reason, expiresAt, companyId, addedAt } of entries) {
    text += `${emailHash},${reason},${expiresAt ?? 'never'},${companyId ?? ''},${addedAt}\n`
    if (++lines % 500 !== 0) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}
