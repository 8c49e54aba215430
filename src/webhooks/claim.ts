import { idRange, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import type { EmailFacts, WebhookFacts } from './body.ts'
import type { WebhookEndpoint } from './view.ts'

export type WebhookClaim = {
  /** The id of this process, for as long as it runs. */
  holder: string
  holdSeconds: number
  /** Where the last walk over the endpoints ended. */
  after: string
  /** How many endpoints are looked at. */
  steps: number
  /** How many more deliveries each of these may have; any other may have one. */
  room: Map<string, number>
  /** Deliveries that this process is making now: they are not claimed again. */
  inFlight: string[]
  /** How many in all: to endpoints that answer, and to those whose last attempt failed. */
  most: { healthy: number; suspect: number }
  /** The most of them for endpoints of one company. */
  companyRoom: { healthy: CompanyRoom; suspect: CompanyRoom }
}

/** How many more deliveries each of these companies may have, and how many any other. */
export type CompanyRoom = { companies: Record<string, number>; others: number }

export type ClaimedDelivery = Omit<WebhookFacts, 'email'> & {
  endpointId: string
  deliveryId: string
  attempts: number
  body: string | null
  url: string
  format: WebhookEndpoint['format']
  /** How many attempts at this endpoint failed in a row. */
  failures: number
  secretCipher: Buffer
  /** Of the secret before the last rotation, while that signs as well. */
  previousCipher: Buffer | null
  /** The e-mail and the event that the webhook reports; null when it reports something else. */
  outboxId: string | null
  eventId: string | null
}

export type Walk = { deliveries: ClaimedDelivery[]; postponed: number; after: string; wrapped: boolean }

const ZERO = '00000000-0000-0000-0000-000000000000'
/** How many more than there is room for are looked at, for one that need not wait for another of its e-mail. */
const LOOK_AHEAD = 2
/** After so many failed attempts of an earlier event, the later ones of the e-mail no longer wait for it. */
const ORDERED_ATTEMPTS = 3

/**
 * What may be delivered now. A walk over the endpoints that have something ready, from where the last one ended; each belongs
 * to one process at a time, so what is in flight is bounded per endpoint over all of them. A delivery stays ready until it is
 * settled: when the holder dies, the next one finds it. One whose e-mail has an earlier event waiting for its retry is put
 * behind that.
 */
export async function claimDeliveries(db: Queryable, claim: WebhookClaim): Promise<Walk> {
  const rows = await run<ClaimedDelivery & { last: string | null; postponed: number }>(db, 'claim-deliveries', CLAIM, [
    claim.holder,
    claim.holdSeconds,
    claim.after,
    claim.steps,
    JSON.stringify(Object.fromEntries(claim.room)),
    claim.inFlight,
    claim.most.healthy,
    claim.most.suspect,
    JSON.stringify(claim.companyRoom.healthy),
    JSON.stringify(claim.companyRoom.suspect),
  ])
  const { last, postponed } = rows[0]!
  const deliveries = rows.filter(row => row.deliveryId !== null)
  return { deliveries, postponed, after: last ?? ZERO, wrapped: last === null }
}

/**
 * Every row is found by its key (the connections know nested loops only), and the subqueries with "offset 0" keep it so: they leave the planner one
 * index to find a row by. Among several it takes the smallest, which it then reads from end to end: for two hundred endpoints
 * that was a third of the claim, and rose with their square.
 */
const CLAIM = `
with recursive walk as (
  (select r.endpoint_id, 1 as step from webhook_ready r where r.endpoint_id > $3 order by r.endpoint_id limit 1)
  union all
  select (select r.endpoint_id from webhook_ready r where r.endpoint_id > walk.endpoint_id order by r.endpoint_id limit 1), walk.step + 1
  from walk where walk.endpoint_id is not null and walk.step < $4
), in_flight as materialized (
  select unnest($6::uuid[]) as delivery_id
), acquired as materialized (
  -- Only these are locked, and written: most are held for some time yet.
  select s.endpoint_id from walk join webhook_state s on s.endpoint_id = walk.endpoint_id
  where s.resume_at <= now() and (s.held_until < now() or (s.holder = $1 and s.held_until < now() + $2 * interval '0.5 second'))
  for update of s skip locked
), renewed as (
  update webhook_state s set holder = $1, held_until = now() + $2 * interval '1 second' from acquired where s.endpoint_id = acquired.endpoint_id
), held as materialized (
  select s.endpoint_id, s.failures, coalesce(($5::jsonb -> s.endpoint_id::text)::int, 1) as room
  from walk join webhook_state s on s.endpoint_id = walk.endpoint_id
  where s.resume_at <= now() and (s.endpoint_id in (select endpoint_id from acquired)
    or (s.holder = $1 and s.held_until >= now() + $2 * interval '0.5 second'))
), open as materialized (
  -- No more of each than are likely to be taken: looking at one costs as much as taking it.
  select held.endpoint_id, held.failures, held.failures > 0 as suspect, w.url, w.format, w.secret_cipher,
    case when w.previous_until > now() then w.previous_cipher end as previous_cipher,
    case when held.failures > 0 then 1 else least(held.room, 1 + ($7::int - 1) / (count(*) over ())::int) end as room, company.room as company_room
  from held cross join lateral (select * from webhook_endpoints w where w.endpoint_id = held.endpoint_id offset 0) w
  cross join lateral (
    select coalesce(given -> 'companies' -> w.company_id::text, given -> 'others')::int as room
    from (select case when held.failures > 0 then $10::jsonb else $9::jsonb end as given) g) company
  where held.room > 0 and company.room > 0 and w.disabled_at is null
), seen as materialized (
  select open.suspect, open.failures, open.url, open.format, open.secret_cipher, open.previous_cipher, open.company_room, d.*
  from open cross join lateral (
    select d.*, before.due_at as before_due
    from (select r.sequence, r.delivery_id from webhook_ready r
      where r.endpoint_id = open.endpoint_id and r.delivery_id not in (select in_flight.delivery_id from in_flight)
      order by r.sequence limit open.room + ${LOOK_AHEAD}) r
    cross join lateral (
      select d.endpoint_id, d.delivery_id, d.sequence, d.company_id, d.type, d.outbox_id, d.event_id, d.data, d.body, d.attempts, d.created_at
      from webhook_deliveries d where d.endpoint_id = open.endpoint_id and d.delivery_id = r.delivery_id offset 0) d
    cross join lateral (
      select max(p.due_at) as due_at, count(*) as found from webhook_deliveries p
      -- Not "=": that would invite the other index, and a walk over all that the endpoint ever got.
      where p.outbox_id = d.outbox_id and p.endpoint_id is not distinct from d.endpoint_id and p.sequence < d.sequence and p.status = 'waiting'
        and p.attempts < ${ORDERED_ATTEMPTS}) before
    where before.found = 0 or before.due_at is not null
    order by r.sequence limit open.room) d
), postponed as materialized (
  select postpone_webhook(endpoint_id, delivery_id, before_due + interval '10 milliseconds') from seen where before_due is not null
), nearest as (
  select *, row_number() over (partition by endpoint_id order by sequence) as nth from seen where before_due is null
), of_company as (
  select *, row_number() over (partition by company_id, suspect order by nth, random()) as company_nth from nearest
), shared as (
  -- In turns: the first delivery of each company, then the second of each.
  select *, row_number() over (partition by suspect order by company_nth, random()) as rank_in_turn from of_company where company_nth <= company_room
), taken as (
  select * from shared where rank_in_turn <= case when suspect then $8::int else $7::int end
), last as (
  select case when count(*) = $4 then max(step_id) end as id from (
    select endpoint_id::text as step_id from walk where endpoint_id is not null) w
)
select last.id as last, (select count(*) from postponed)::int as postponed, d.endpoint_id, d.delivery_id, d.type,
  d.sequence::float8 as sequence, d.company_id, d.attempts, d.body, d.data, ${iso('d.created_at')} as timestamp,
  d.outbox_id, d.event_id, d.url, d.format, d.failures, d.secret_cipher, d.previous_cipher
from last left join taken d on true`

export type EventFacts = EmailFacts & { eventId: string; timestamp: string; traceparent: string | null }

/**
 * What the bodies are made of. Apart from the claim, so that the ids are known and other partitions are never opened. The subqueries with
 * "offset 0" are there for the same reason: without them, planned while a day's partition is empty, all that lies between the ids is read for each of them.
 */
export async function loadEventFacts(
  db: Queryable,
  events: { outboxId: string; eventId: string }[],
): Promise<Map<string, EventFacts>> {
  if (events.length === 0) return new Map()
  const rows = await run<EventFacts>(
    db,
    'load-event-facts',
    `select e.event_id as "eventId", ${iso('e.created_at')} as timestamp, e.type as "eventType", e.metadata, o.outbox_id as "outboxId",
       o.external_id as "externalId", o.request_id as "requestId", o.from_address as "from", o.subject, o.tags, o.test, o.attempts,
       o.message_id as "messageId", o.traceparent, o.template_type as "templateType", ${iso('o.created_at')} as "createdAt",
       (select coalesce(jsonb_agg(jsonb_build_object('kind', r.kind, 'address', r.address) order by r.ordinal), '[]')
        from email_recipients r where r.outbox_id = e.outbox_id and r.outbox_id between $3 and $4) as recipients
     from unnest($1::uuid[], $2::uuid[]) as wanted(outbox_id, event_id)
     cross join lateral (
       select * from email_events e where e.outbox_id = wanted.outbox_id and e.event_id = wanted.event_id and e.outbox_id between $3 and $4 offset 0) e
     cross join lateral (select * from email_outbox o where o.outbox_id = wanted.outbox_id and o.outbox_id between $3 and $4 offset 0) o`,
    [events.map(one => one.outboxId), events.map(one => one.eventId), ...idRange(events)],
  )
  return new Map(rows.map(row => [row.eventId, row]))
}

/** Makes retries ready that are due. Returns how many. */
export async function readyDueDeliveries(db: Queryable, limit = 1000): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'ready-due-deliveries')`
    with due as materialized (
       select endpoint_id, delivery_id from webhook_deliveries where due_at <= now() order by due_at limit ${limit} for update skip locked
     ), woken as materialized (
       select ready_webhook(endpoint_id, delivery_id) from due
     )
     select count(*)::int as count from woken`
  return row!.count
}

/** Renews the hold on endpoints that have deliveries in flight. */
export async function keepEndpoints(
  db: Queryable,
  holder: string,
  endpointIds: string[],
  seconds: number,
): Promise<void> {
  await sql(db, 'keep-endpoints')`
    update webhook_state set held_until = now() + ${seconds} * interval '1 second' where endpoint_id = any(${endpointIds}) and holder = ${holder}`
}

/** Ends the hold on all endpoints, so that other processes may take them at once. */
export async function leaveEndpoints(db: Queryable, holder: string): Promise<void> {
  await sql(db, 'leave-endpoints')`
    update webhook_state set holder = null, held_until = '-infinity' where holder = ${holder}`
}
