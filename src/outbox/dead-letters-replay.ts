import { type Queryable, run } from '../platform/postgres/query.ts'
import { HAS_CONTENT, IS_DEAD } from './dead-letters.ts'
import { LOCK_EXISTING_READY_ROW } from './sql.ts'
import type { EmailStatus } from './states.ts'

const SUPPRESSED = 'RECIPIENT_SUPPRESSED'

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
export const MAY_BE_REPLAYED = `(o.status = 'EXPIRED' or (o.status = 'REJECTED' and o.error_code = '${SUPPRESSED}') or (${IS_DEAD} and d.outbox_id is not null))`
export const HAS_PAYLOAD = `((d.outbox_id is null or d.original_data is not null) and ${HAS_CONTENT})`

/**
 * From the locked e-mails to PENDING, all or nothing. The e-mail's row is locked first, as everywhere. Who deletes the entry
 * replays it: one that was replayed, purged or emptied since our snapshot is not there to be deleted. Arrays instead of joins:
 * see MATCHES.
 */
const REPLAY = `
with picked as materialized (
  select o.outbox_id, o.status, o.attempts, coalesce(d.last_failure_code, o.error_code) as code,
    coalesce(d.last_failure_reason, o.failure_reason) as reason
  from email_outbox o left join dead_letters d on d.outbox_id = o.outbox_id
  where o.outbox_id = any($1::uuid[]) and ${MAY_BE_REPLAYED} and ${HAS_PAYLOAD} for update of o skip locked
), taken as (
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
  select outbox_id, company_id, 'REPLAYED', jsonb_build_object('replayedBy', $2::text, 'previousStatus', status,
    'previousFailure', jsonb_build_object('code', code, 'reason', reason), 'previousAttempts', attempts)
  from replayed
), put_ready as (
  insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from replayed
  ${LOCK_EXISTING_READY_ROW}
)
select asked.outbox_id as "outboxId", case when replayed.outbox_id is not null then 'replayed'
    when ${MAY_BE_REPLAYED} is not true then 'not-found' when not ${HAS_PAYLOAD} then 'payload-purged' else 'busy' end as outcome,
  case when replayed.outbox_id is not null then 'PENDING' else o.status end as status
from unnest($1::uuid[]) as asked(outbox_id)
left join email_outbox o on o.outbox_id = any($1::uuid[]) and o.outbox_id = asked.outbox_id
left join dead_letters d on d.outbox_id = asked.outbox_id left join replayed on replayed.outbox_id = asked.outbox_id`

export async function replayByIds(db: Queryable, outboxIds: string[], by: string): Promise<NamedReplay[]> {
  return run<NamedReplay>(db, 'replay-by-ids', REPLAY, [outboxIds, by])
}
