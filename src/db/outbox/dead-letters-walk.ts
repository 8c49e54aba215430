import { type Queryable, run } from '../query.ts'
import {
  BEFORE_ALL,
  type DeadLetterCursor,
  type DeadLetterFilter,
  exactly,
  filterValues,
  MATCHES,
  MEANT_FOR_REPLAY,
} from './dead-letters.ts'

export type DeadLetterUse = 'replay' | 'purge'

const MEANT: Record<DeadLetterUse, string> = { replay: MEANT_FOR_REPLAY, purge: 'true' }

/** How many a walk over this filter meets. Reads dead_letters alone, unless the filter names a status. */
export async function countWalk(db: Queryable, filter: DeadLetterFilter, use: DeadLetterUse): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    `count-walk-to-${use}`,
    `select count(*)::int as count from dead_letters d where ${MATCHES} and ${MEANT[use]}`,
    filterValues(filter),
  )
  return row!.count
}

/** The next entries of the walk, oldest first, with or without a payload. */
export async function walkDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { use, after, limit }: { use: DeadLetterUse; after: DeadLetterCursor | undefined; limit: number },
): Promise<DeadLetterCursor[]> {
  const { movedAt, outboxId } = after ?? BEFORE_ALL
  return run<DeadLetterCursor>(
    db,
    `walk-dead-letters-to-${use}`,
    `select ${exactly('d.moved_at')} as "movedAt", d.outbox_id as "outboxId" from dead_letters d
     where ${MATCHES} and ${MEANT[use]} and (d.moved_at, d.outbox_id) > ($6::timestamptz, $7::uuid)
     order by d.moved_at, d.outbox_id limit $8`,
    [...filterValues(filter), movedAt, outboxId, limit],
  )
}
