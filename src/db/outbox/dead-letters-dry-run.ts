import { type Queryable, run } from '../query.ts'
import {
  DEAD_WITH_EMAIL,
  type DeadLetter,
  type DeadLetterFilter,
  filterValues,
  HAS_CONTENT,
  IS_DEAD,
  MATCHES,
  MEANT_FOR_REPLAY,
  readEntries,
} from './dead-letters.ts'
import { type CheckedReplay, HAS_PAYLOAD, MAY_BE_REPLAYED } from './dead-letters-replay.ts'

/** Those that a replay or a purge would take first: the oldest. */
export async function firstDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { use, limit }: { use: 'replay' | 'purge'; limit: number },
): Promise<DeadLetter[]> {
  const taken =
    use === 'purge' ? '' : `and ${MEANT_FOR_REPLAY} and d.original_data is not null and ${IS_DEAD} and ${HAS_CONTENT}`
  return readEntries(
    db,
    `first-dead-letters-to-${use}`,
    `${DEAD_WITH_EMAIL} where ${MATCHES} ${taken} order by d.moved_at, d.outbox_id limit $6`,
    [...filterValues(filter), limit],
  )
}

/** What a replay of these would say of each, without changing or locking anything. */
export async function checkByIds(db: Queryable, outboxIds: string[]): Promise<CheckedReplay[]> {
  return run<CheckedReplay>(
    db,
    'check-replay-by-ids',
    `select asked.outbox_id as "outboxId", case when ${MAY_BE_REPLAYED} is not true then 'not-found'
         when not ${HAS_PAYLOAD} then 'payload-purged' else 'replayed' end as outcome, o.status
     from unnest($1::uuid[]) as asked(outbox_id)
     left join email_outbox o on o.outbox_id = any($1::uuid[]) and o.outbox_id = asked.outbox_id
     left join dead_letters d on d.outbox_id = asked.outbox_id`,
    [outboxIds],
  )
}
