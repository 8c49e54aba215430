import { exactly, fragment, type Queryable, run } from '../platform/postgres/query.ts'
import {
  BEFORE_ALL,
  type DeadLetterCursor,
  type DeadLetterFilter,
  filterValues,
  HAS_CONTENT,
  IS_DEAD,
  MATCHES,
  MEANT_FOR_REPLAY,
} from './dead-letters.ts'
import { LOCK_EXISTING_READY_ROW } from './sql.ts'
import type { EmailStatus } from './states.ts'

const SUPPRESSED = 'RECIPIENT_SUPPRESSED'

/**
 * From the locked e-mails to PENDING, all or nothing. The e-mail's row is locked first, as everywhere. Who deletes the entry
 * replays it: one that was replayed, purged or emptied since our snapshot is not there to be deleted. Arrays instead of joins:
 * see MATCHES.
 */
const replayThePicked = (pick: string, by: string) => `
picked as materialized (${pick}), taken as (
  delete from dead_letters d where d.outbox_id = any(array(select outbox_id from picked)) and d.original_data is not null
  returning d.outbox_id
), replayed as (
  update email_outbox o set status = 'PENDING', attempts = 0, next_attempt_at = null, expires_at = now() + interval '24 hours',
    attempt_id = null, started_at = null, provider = null, message_id = null, duration_ms = null, sent_at = null,
    error_code = null, provider_code = null, error_category = null, failure_reason = null, failed_at = null
  from picked f
  where o.outbox_id = any(array(select outbox_id from picked)) and o.outbox_id = f.outbox_id and o.status = f.status
    and (f.status = 'EXPIRED' or f.code = '${SUPPRESSED}' or f.outbox_id in (select outbox_id from taken))
  returning o.outbox_id, o.company_id, o.priority, f.status, f.attempts, f.code, f.reason
), put_recipients as (
  -- Whoever was suppressed when it was to be sent gets another chance: the list is asked again before the attempt.
  update email_recipients r set status = 'PENDING', suppressed = false from replayed f
  where r.outbox_id = any(array(select outbox_id from replayed)) and r.outbox_id = f.outbox_id
    and (not r.suppressed or (f.code = '${SUPPRESSED}' and r.address is not null))
), put_events as (
  insert into email_events (outbox_id, company_id, type, metadata)
  select outbox_id, company_id, 'REPLAYED', jsonb_build_object('replayedBy', ${by}::text, 'previousStatus', status,
    'previousFailure', jsonb_build_object('code', code, 'reason', reason), 'previousAttempts', attempts)
  from replayed
), put_ready as (
  insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from replayed
  ${LOCK_EXISTING_READY_ROW}
)`

const PICK_BY_FILTER = `
  select o.outbox_id, o.status, o.attempts, w.last_failure_code as code, w.last_failure_reason as reason
  from bite w join email_outbox o on o.outbox_id = w.outbox_id
  where o.outbox_id = any(array(select outbox_id from bite)) and ${IS_DEAD} and ${HAS_CONTENT} for update of o skip locked`

const REPLAY_BY_FILTER = `
with bite as materialized (
  select d.outbox_id, d.moved_at, d.last_failure_code, d.last_failure_reason from dead_letters d
  where ${MATCHES} and ${MEANT_FOR_REPLAY} and d.original_data is not null
    and (d.moved_at, d.outbox_id) > ($6::timestamptz, $7::uuid)
  order by d.moved_at, d.outbox_id limit $8
), ${replayThePicked(PICK_BY_FILTER, '$9')}
select ${exactly('moved_at')} as "movedAt", outbox_id, (select count(*) from replayed)::int as replayed
from bite order by moved_at desc, outbox_id desc limit 1`

export type ReplayedBite = {
  replayed: number
  /** The last entry that was looked at; null: there is none after `after`. */
  last: DeadLetterCursor | null
}

/** One bite of up to `limit` entries that are meant for a replay, oldest first. What somebody else holds at this moment is passed over. */
export async function replayDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { by, limit, after = null }: { by: string; limit: number; after?: DeadLetterCursor | null },
): Promise<ReplayedBite> {
  const { movedAt, outboxId } = after ?? BEFORE_ALL
  const values = [...filterValues(filter), movedAt, outboxId, limit, by]
  const [row] = await run<DeadLetterCursor & { replayed: number }>(db, 'replay-dead-letters', REPLAY_BY_FILTER, values)
  if (!row) return { replayed: 0, last: null }
  return { replayed: row.replayed, last: { movedAt: row.movedAt, outboxId: row.outboxId } }
}

export type NamedReplay = {
  outboxId: string
  /** busy: somebody holds it at this moment; asking again tells. */
  outcome: 'replayed' | 'payload-purged' | 'not-found' | 'busy'
  /** Null: there is no such e-mail. */
  status: EmailStatus | null
}

/** What a dry run tells: busy ones are not looked for. */
export type CheckedReplay = NamedReplay & { outcome: Exclude<NamedReplay['outcome'], 'busy'> }

/** What has an entry; what has expired, or was suppressed before it was sent, has none. */
export const MAY_BE_REPLAYED = fragment`(o.status = 'EXPIRED' or (o.status = 'REJECTED' and o.error_code = '${SUPPRESSED}') or (${IS_DEAD} and d.outbox_id is not null))`
export const HAS_PAYLOAD = fragment`((d.outbox_id is null or d.original_data is not null) and ${HAS_CONTENT})`

const PICK_BY_ID = `
  select o.outbox_id, o.status, o.attempts, coalesce(d.last_failure_code, o.error_code) as code,
    coalesce(d.last_failure_reason, o.failure_reason) as reason
  from email_outbox o left join dead_letters d on d.outbox_id = o.outbox_id
  where o.outbox_id = any($1::uuid[]) and ${MAY_BE_REPLAYED} and ${HAS_PAYLOAD} for update of o skip locked`

const REPLAY_BY_ID = `
with ${replayThePicked(PICK_BY_ID, '$2')}
select asked.outbox_id, case when replayed.outbox_id is not null then 'replayed'
    when ${MAY_BE_REPLAYED} is not true then 'not-found' when not ${HAS_PAYLOAD} then 'payload-purged' else 'busy' end as outcome,
  case when replayed.outbox_id is not null then 'PENDING' else o.status end as status
from unnest($1::uuid[]) as asked(outbox_id)
left join email_outbox o on o.outbox_id = any($1::uuid[]) and o.outbox_id = asked.outbox_id
left join dead_letters d on d.outbox_id = asked.outbox_id left join replayed on replayed.outbox_id = asked.outbox_id`

export async function replayByIds(db: Queryable, outboxIds: string[], by: string): Promise<NamedReplay[]> {
  return run<NamedReplay>(db, 'replay-by-ids', REPLAY_BY_ID, [outboxIds, by])
}
