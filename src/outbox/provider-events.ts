import { fragment, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { uuidOf } from '../platform/text/uuid.ts'
import type { ProviderName } from '../settings/settings.ts'

export type IncomingEvent = { provider: ProviderName; externalId: string; payload: string }

/** Stores each event once, even if the provider repeats it. Returns which ones were new. */
export async function storeProviderEvents(db: Queryable, events: IncomingEvent[]): Promise<boolean[]> {
  const rows = events.map(({ provider, externalId, payload }) => ({
    i: uuidOf(`${provider}\n${externalId}`),
    p: provider,
    x: externalId,
    t: storable(payload),
  }))
  const stored = await run<{ eventId: string }>(
    db,
    'store-provider-events',
    // Ordered by id, so that two batches with the same events cannot deadlock.
    `insert into provider_events (event_id, provider, external_id, payload)
     select i, p, x, t from json_to_recordset($1::json) as x(i uuid, p text, x text, t text) order by i
     on conflict do nothing returning event_id`,
    [JSON.stringify(rows)],
  )
  const fresh = new Set(stored.map(row => row.eventId))
  return rows.map(({ i }) => fresh.delete(i))
}

/** Postgres stores neither NUL nor lone surrogates. The replacement makes such an event unreadable, and it is kept as that. */
const storable = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed()

export type WaitingEvent = {
  eventId: string
  provider: ProviderName
  payload: string
  attempts: number
  receivedAt: string
  ageSeconds: number
}

/** Locked until the transaction ends; other processes skip them. */
export async function takeProviderEvents(tx: Queryable, limit: number): Promise<WaitingEvent[]> {
  return sql<WaitingEvent>(tx, 'take-provider-events')`
    ${WAITING_EVENTS} order by next_try_at limit ${limit} for update skip locked`
}

/**
 * One event, to process it alone; none: somebody else has processed it. It waits for whoever has the event: Postgres reports the error of
 * a transaction a moment before it gives up the locks.
 */
export async function takeProviderEvent(tx: Queryable, eventId: string): Promise<WaitingEvent[]> {
  return sql<WaitingEvent>(tx, 'take-provider-event')`${WAITING_EVENTS} and event_id = ${eventId} for update`
}

const WAITING_EVENTS = fragment`
  select event_id, provider, payload, attempts, ${iso('received_at')} as "receivedAt",
    extract(epoch from now() - received_at)::float8 as "ageSeconds"
  from provider_events where state = 'waiting' and next_try_at <= now()`

export type EventEnd = {
  eventId: string
  state: 'waiting' | 'processed' | 'ignored' | 'unmatched' | 'unreadable'
  outboxId?: string | null
  note?: string | null
  /** For `waiting`: when it is tried again, and whether the last try counts as an attempt. */
  retrySeconds?: number
  counts?: boolean
}

/** The payload contains addresses, so it is deleted as soon as it is not needed any more. */
export async function finishProviderEvents(tx: Queryable, ends: EventEnd[]): Promise<void> {
  await sql(tx, 'finish-provider-events')`
    update provider_events e set state = i.state, outbox_id = i."outboxId", note = left(i.note, 500),
       payload = case when i.state in ('processed', 'ignored') then null else e.payload end,
       attempts = least(32000, e.attempts + case when i.counts then 1 else 0 end),
       next_try_at = case when i.state = 'waiting' then now() + i."retrySeconds" * interval '1 second' else e.next_try_at end
     from json_to_recordset(${JSON.stringify(ends)}::json) as i("eventId" uuid, state text, "outboxId" uuid, note text, "retrySeconds" float8, counts boolean)
     where e.event_id = i."eventId"`
}

/** Returns how many were deleted, up to `limit`. Events in state `waiting` are never purged. */
export async function purgeProviderEvents(db: Queryable, days: number, limit: number): Promise<number> {
  const rows = await sql(db, 'purge-provider-events')`
    delete from provider_events where event_id in (
       select event_id from provider_events where received_at < now() - ${days} * interval '1 day' and state <> 'waiting'
       limit ${limit} for update skip locked)
     returning 1 as one`
  return rows.length
}

export type InboxState = { waiting: number; oldestSeconds: number | null }

/** Counts up to 100 000. `oldestSeconds`: of the events that could be processed now. */
export async function readInbox(db: Queryable): Promise<InboxState> {
  const [row] = await sql<InboxState>(db, 'read-inbox')`
    select (select count(*) from (select from provider_events where state = 'waiting' limit 100000) w)::int as waiting,
       (select extract(epoch from now() - min(received_at))::float8 from (
         select received_at from provider_events where state = 'waiting' and next_try_at <= now() order by next_try_at limit 10000) d
       ) as "oldestSeconds"`
  return row!
}
