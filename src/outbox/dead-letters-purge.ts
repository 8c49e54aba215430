import { exactly, type Queryable, run } from '../platform/postgres/query.ts'
import {
  BEFORE_ALL,
  type DeadLetterCursor,
  type DeadLetterFilter,
  filterValues,
  MATCHES,
  MEANT_FOR_REPLAY,
} from './dead-letters.ts'

export type NamedPurge = { outboxId: string; outcome: 'purged' | 'not-found' | 'busy' }

/** Each by its id. The e-mail keeps its row and its status, and can no longer be replayed. Never waits: what somebody holds at this moment is busy. */
export async function purgeByIds(db: Queryable, outboxIds: string[]): Promise<NamedPurge[]> {
  return run<NamedPurge>(
    db,
    'purge-by-ids',
    `with picked as materialized (
       select d.outbox_id from dead_letters d where d.outbox_id = any($1::uuid[]) order by d.outbox_id for update skip locked
     ), purged as (
       delete from dead_letters d using picked where d.outbox_id = picked.outbox_id returning d.outbox_id
     )
     select asked.outbox_id as "outboxId", case when purged.outbox_id is not null then 'purged'
       when d.outbox_id is null then 'not-found' else 'busy' end as outcome
     from unnest($1::uuid[]) as asked(outbox_id) left join purged using (outbox_id) left join dead_letters d using (outbox_id)`,
    [outboxIds],
  )
}

/** Payloads of entries older than that go, what is known about the failure stays. Answers how many were removed. */
export async function purgeOldPayloads(db: Queryable, days: number, biteSize = 500): Promise<number> {
  let purged = 0
  for (;;) {
    const bite = await purgeSomePayloads(db, days, biteSize)
    purged += bite
    if (bite < biteSize) return purged
  }
}

/** original_data goes with the content, under the entry's lock: a replay that comes second finds it gone. */
async function purgeSomePayloads(db: Queryable, days: number, limit: number): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'purge-old-payloads',
    `with old as materialized (
       select d.outbox_id from dead_letters d
       where d.original_data is not null and d.moved_at < now() - $1 * interval '1 day'
       order by d.moved_at, d.outbox_id limit $2 for update skip locked
     ), emptied as (
       update dead_letters d set original_data = null from old where d.outbox_id = old.outbox_id returning d.outbox_id
     ), put_content as (
       update email_content c set html = null, text = null, reply_to = null, headers = null, variables = null
       from emptied where c.outbox_id = emptied.outbox_id
     ), unattached as (
       delete from email_attachments f using emptied where f.outbox_id = emptied.outbox_id
     )
     select count(*)::int as count from emptied`,
    [days, limit],
  )
  return row!.count
}

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
