import { DUE_SINCE, READY_HEADS } from '../outbox/claim.ts'
import { fragment, type Queryable, sql } from '../platform/postgres/query.ts'
import type { QueueCounts } from './overview.ts'

const upTo100000 = (rows: string) => fragment`(select count(*) from (select ${rows} limit 100000) t)::int`

/**
 * Asked every two seconds while somebody looks. The oldest is searched among the first of each company and priority: ids rise with
 * time. What a paused company holds back waits for an administrator.
 */
export async function readQueue(db: Queryable): Promise<QueueCounts> {
  const [row] = await sql<QueueCounts>(db, 'read-queue')`
    with recursive ${READY_HEADS}, oldest as materialized (
       select outbox_id from heads where company_id not in (select company_id from companies where paused_at is not null)
       order by outbox_id limit 100)
     select ${upTo100000('from email_ready')} as ready,
       ${upTo100000('from companies c join email_ready r using (company_id) where c.paused_at is not null')} as held, ${upTo100000('from email_scheduled')} as scheduled,
       ${upTo100000('from unknown_sends')} as unknown, ${upTo100000('from dead_letters where original_data is not null')} as "deadLetters",
       (select greatest(0, extract(epoch from now() - due_at))::float8 from (
          select min(${DUE_SINCE}) as due_at
          from oldest cross join lateral (select o.next_attempt_at, o.expires_at from email_outbox o where o.outbox_id = oldest.outbox_id limit 1) o
        ) t where due_at is not null) as "oldestWaitingSeconds"`
  return row!
}

const RATE_SECONDS = 10

/** Attempts a second that each provider was called for lately; those without any are not in the answer. */
export async function readSendRates(db: Queryable): Promise<Map<string, number>> {
  const rows = await sql<{ provider: string; count: number }>(db, 'read-send-rates')`
    select provider, count(*)::int as count from (
       select metadata ->> 'provider' as provider from email_events
       where type = 'SENT_ATTEMPT' and created_at > now() - ${RATE_SECONDS} * interval '1 second' limit 50000) started
     where provider is not null group by provider`
  return new Map(rows.map(({ provider, count }) => [provider, count / RATE_SECONDS]))
}
