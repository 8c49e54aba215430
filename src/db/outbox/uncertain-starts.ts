import { type Queryable, run } from '../query.ts'
import type { AttemptStart } from './start.ts'

/** started: SENT_ATTEMPT of this attempt stands under its lease. unknown: it was taken for that of a lost worker. */
export type FoundStart = 'started' | 'unknown' | null

/** What became of starts whose commit was not confirmed, by their attempt ids; null: not committed, or somebody else's by now. */
export async function findStarts(db: Queryable, starts: AttemptStart[]): Promise<FoundStart[]> {
  if (starts.length === 0) return []
  const rows = await run<{ attempt_id: string; found: FoundStart }>(
    db,
    'find-starts',
    `select o.attempt_id, case o.status when 'PROCESSING' then 'started' when 'UNKNOWN' then 'unknown' end as found
     from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as s(outbox_id, attempt_id, lease_id)
     join email_outbox o on o.outbox_id = s.outbox_id and o.attempt_id = s.attempt_id
     where o.lease_id = s.lease_id or (o.status = 'UNKNOWN' and o.lease_id is null)`,
    [starts.map(one => one.outboxId), starts.map(one => one.attemptId), starts.map(one => one.leaseId)],
  )
  const found = new Map(rows.map(row => [row.attempt_id, row.found]))
  return starts.map(one => found.get(one.attemptId) ?? null)
}
