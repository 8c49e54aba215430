import type { WebhookDelivery, WebhookEndpoint } from '../../contracts/webhooks/view.ts'
import { iso, type Queryable, run } from '../query.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED } from './endpoints.ts'
import { WAITING, WITH_RETRIES } from './waiting.ts'

export type ListedEndpoint = WebhookEndpoint & { companyId: string; companyName: string; waiting: number }

const LISTED = `${WITH_RETRIES}
  select ${ENDPOINT_COLUMNS}, w.company_id as "companyId", c.name as "companyName", ${WAITING} as waiting
  from webhook_endpoints w join companies c on c.company_id = w.company_id where ${NOT_DELETED}`

/** Live and test endpoints. companyId null: of all companies. */
export async function listAllEndpoints(db: Queryable, companyId: string | null): Promise<ListedEndpoint[]> {
  return run<ListedEndpoint>(
    db,
    'list-all-webhook-endpoints',
    `${LISTED} and ($1::uuid is null or w.company_id = $1) order by c.name, w.endpoint_id`,
    [companyId],
  )
}

export async function findAnyEndpoint(db: Queryable, endpointId: string): Promise<ListedEndpoint | null> {
  const [row] = await run<ListedEndpoint>(db, 'find-any-webhook-endpoint', `${LISTED} and w.endpoint_id = $1`, [
    endpointId,
  ])
  return row ?? null
}

export type EndpointQueue = {
  failingSince: string | null
  /** Of its last attempt that failed: a status such as 503, or what went wrong. */
  lastError: string | null
  /** Ready deliveries that come before this one, up to 1 000. */
  before: number
  /** 0: deliveries are tried now. After failures the endpoint is left alone for some time. */
  resumesInMs: number
}

/** What a delivery of this endpoint waits for. Its failed deliveries are among the oldest ready ones and those that wait for a retry. */
export async function readEndpointQueue(db: Queryable, endpointId: string, deliveryId: string): Promise<EndpointQueue> {
  const [row] = await run<EndpointQueue>(
    db,
    'read-endpoint-queue',
    `with tried as (
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select r.delivery_id from webhook_ready r where r.endpoint_id = $1 order by r.sequence limit 100) r
        join webhook_deliveries d on d.endpoint_id = $1 and d.delivery_id = r.delivery_id where d.attempts > 0)
       union all
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select * from webhook_deliveries where due_at is not null limit 10000) d where d.endpoint_id = $1)
     )
     select ${iso('s.failing_since')} as "failingSince",
       (select coalesce(t.last_error, t.last_status::text) from tried t order by t.last_attempt_at desc nulls last limit 1) as "lastError",
       (select count(*) from (select from webhook_ready r where r.endpoint_id = $1 and r.sequence < d.sequence limit 1000) r)::int as before,
       (case when s.resume_at > now() then extract(epoch from s.resume_at - now()) * 1000 else 0 end)::float8 as "resumesInMs"
     from webhook_deliveries d join webhook_state s using (endpoint_id) where d.endpoint_id = $1 and d.delivery_id = $2`,
    [endpointId, deliveryId],
  )
  return row!
}

export type DeliveryState = Pick<
  WebhookDelivery,
  'id' | 'status' | 'attempts' | 'lastStatus' | 'lastError' | 'lastDurationMs'
>

export async function findDelivery(
  db: Queryable,
  endpointId: string,
  deliveryId: string,
): Promise<DeliveryState | null> {
  const [row] = await run<DeliveryState>(
    db,
    'find-delivery-for-operator',
    `select delivery_id as id, status, attempts, last_status as "lastStatus", last_error as "lastError",
       last_duration_ms as "lastDurationMs"
     from webhook_deliveries where endpoint_id = $1 and delivery_id = $2`,
    [endpointId, deliveryId],
  )
  return row ?? null
}
