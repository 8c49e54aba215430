import { fragment, iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { type ClaimedDelivery, loadEventFacts } from './claim.ts'
import { makeBody } from './deliver.ts'
import type { WebhookDelivery } from './view.ts'

const COLUMNS = fragment`d.delivery_id as id, d.type, d.outbox_id, d.sequence::float8 as sequence, d.status, d.attempts,
  ${iso('d.created_at')} as "createdAt", ${iso('d.last_attempt_at')} as "lastAttemptAt", ${iso('d.due_at')} as "nextAttemptAt",
  d.last_status, d.last_error, d.last_answer, d.last_duration_ms`

/** Newest first, older than `before`. */
export async function listDeliveries(
  db: Queryable,
  endpointId: string,
  { before, limit, status }: { before: string | null; limit: number; status: string | null },
): Promise<WebhookDelivery[]> {
  return sql<WebhookDelivery>(db, 'list-webhook-deliveries')`
    select ${COLUMNS} from webhook_deliveries d
     where d.endpoint_id = ${endpointId} and (${before}::uuid is null or d.delivery_id < ${before}::uuid) and (${status}::text is null or d.status = ${status}::text)
     order by d.delivery_id desc limit ${limit}`
}

/** A delivery with what its body is made of. */
export type DeliveryWithFacts = WebhookDelivery &
  Pick<ClaimedDelivery, 'companyId' | 'data' | 'timestamp' | 'eventId' | 'body' | 'format'>

export async function findDelivery(
  db: Queryable,
  endpointId: string,
  deliveryId: string,
): Promise<DeliveryWithFacts | null> {
  const [row] = await sql<DeliveryWithFacts>(db, 'find-webhook-delivery')`
    select ${COLUMNS}, d.company_id, d.data, ${iso('d.created_at')} as timestamp, d.event_id, d.body, w.format
     from webhook_deliveries d join webhook_endpoints w using (endpoint_id) where d.endpoint_id = ${endpointId} and d.delivery_id = ${deliveryId}`
  return row ?? null
}

/** null: retention has deleted the e-mail that it is about. */
export async function deliveryBody(delivery: DeliveryWithFacts, db: Queryable): Promise<string | null> {
  if (delivery.body !== null) return delivery.body
  const { outboxId, eventId } = delivery
  if (outboxId === null || eventId === null) return makeBody(delivery, null)
  const facts = (await loadEventFacts(db, [{ outboxId, eventId }])).get(eventId)
  return facts ? makeBody(delivery, facts) : null
}

/** Starts again with the first attempt, under the same id. A delivery that waits for a retry is sent now. */
export async function replayDelivery(
  db: Queryable,
  endpointId: string,
  deliveryId: string,
): Promise<WebhookDelivery | null> {
  const [row] = await sql<WebhookDelivery>(db, 'replay-webhook-delivery')`
    with d as (
       update webhook_deliveries d set status = 'waiting', attempts = 0, due_at = null
       where d.endpoint_id = ${endpointId} and d.delivery_id = ${deliveryId} returning *
     ), put_ready as (
       insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from d
       on conflict (endpoint_id, sequence) do update set delivery_id = excluded.delivery_id
     )
     select ${COLUMNS} from d`
  return row ?? null
}

/** To this endpoint only, whatever event types it has subscribed to. */
export async function putTestDelivery(
  db: Queryable,
  to: { endpointId: string; companyId: string; deliveryId: string; data: object },
): Promise<WebhookDelivery> {
  const [row] = await sql<WebhookDelivery>(db, 'put-test-delivery')`
    with d as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       values (${to.endpointId}, ${to.deliveryId}, ${to.companyId}, 'webhook.test', ${JSON.stringify(to.data)}) returning *
     ), put_ready as (
       insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from d
     )
     select ${COLUMNS} from d`
  return row!
}

/** Fails the deliveries that wait for a disabled or deleted endpoint; they can be replayed after it is enabled again. */
export async function failUndeliverable(db: Queryable, limit = 1000): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'fail-undeliverable')`
    with undeliverable as materialized (
       select r.* from webhook_endpoints w cross join lateral (
         select r.endpoint_id, r.sequence, r.delivery_id from webhook_ready r where r.endpoint_id = w.endpoint_id limit ${limit}) r
       where w.disabled_at is not null limit ${limit}
     ), failed as materialized (
       select fail_webhook(endpoint_id, sequence, delivery_id) from undeliverable
     ), counted as (
       insert into counters as c (name, label, value) select 'webhook_deliveries', 'failed', count(*) from failed having count(*) > 0
       on conflict (name, label) do update set value = c.value + excluded.value
     )
     select count(*)::int as count from undeliverable`
  return row!.count
}

/** So many days after they were enqueued (ids are ordered by time). Deleted endpoints are removed with their last delivery. */
export async function purgeOldDeliveries(db: Queryable, days: number, limit = 10_000): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'purge-old-deliveries')`
    with old as materialized (
       select d.endpoint_id, d.delivery_id from webhook_endpoints w cross join lateral (
         select d.endpoint_id, d.delivery_id from webhook_deliveries d
         where d.endpoint_id = w.endpoint_id and d.delivery_id < uuid_v7_floor(now() - ${days} * interval '1 day') and d.status <> 'waiting'
         limit ${limit}) d
       limit ${limit}
     ), purged as materialized (
       select purge_webhook(endpoint_id, delivery_id) from old
     ), removed as (
       delete from webhook_endpoints w where w.disabled_reason = 'DELETED' and w.disabled_at < now() - ${days} * interval '1 day'
         and not exists (select from webhook_deliveries d where d.endpoint_id = w.endpoint_id)
     )
     select count(*)::int as count from purged`
  return row!.count
}

/** `unservedSeconds`: how long the oldest webhook has waited for an endpoint that does not fail and that no process serves. */
export type WebhookBacklog = {
  waiting: number
  oldestSeconds: number | null
  unservedSeconds: number | null
  disabled: number
}

/** An endpoint with deliveries in flight is held, so one that is slow is served, whatever the age of its webhooks. */
const UNSERVED_SECONDS = fragment`
  with recursive endpoint as (
    (select r.endpoint_id from webhook_ready r order by r.endpoint_id limit 1)
    union all
    select (select r.endpoint_id from webhook_ready r where r.endpoint_id > e.endpoint_id order by r.endpoint_id limit 1)
    from endpoint e where e.endpoint_id is not null
  )
  select extract(epoch from now() - min(greatest(oldest.created_at, oldest.last_attempt_at)))::float8
  from endpoint e join webhook_state s on s.endpoint_id = e.endpoint_id and s.failures = 0 and s.held_until < now()
  cross join lateral (
    select d.created_at, d.last_attempt_at from webhook_ready r
    join webhook_deliveries d on d.endpoint_id = r.endpoint_id and d.delivery_id = r.delivery_id
    where r.endpoint_id = e.endpoint_id order by r.sequence limit 1) oldest`

/** Counts up to 100 000. */
export async function readWebhookBacklog(db: Queryable): Promise<WebhookBacklog> {
  const [row] = await sql<WebhookBacklog>(db, 'read-webhook-backlog')`
    select (select count(*) from (select from webhook_ready limit 100000) r)::int
         + (select count(*) from (select from webhook_deliveries where due_at is not null limit 100000) d)::int as waiting,
       (select extract(epoch from now() - min(d.created_at))::float8 from (select * from webhook_ready limit 100000) r
        join webhook_deliveries d on d.endpoint_id = r.endpoint_id and d.delivery_id = r.delivery_id) as "oldestSeconds",
       (${UNSERVED_SECONDS}) as "unservedSeconds",
       (select count(*) from webhook_endpoints where disabled_reason in ('GONE', 'FAILING'))::int as disabled`
  return row!
}
