import { fragment, iso, type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED } from './endpoints.ts'
import type { WebhookDelivery, WebhookEndpoint } from './view.ts'

/**
 * The deliveries of each endpoint that wait for a later attempt, for the `with` of a statement. They have no index by endpoint, so
 * they are read once for all endpoints, and not more of them than can be read at every glance.
 */
export const WITH_RETRIES = `with retries as materialized (
    select d.endpoint_id, count(*) as count from (select endpoint_id from webhook_deliveries where due_at is not null limit 10000) d
    group by d.endpoint_id)`

/** Of the endpoint w: what is ready and what is due later, up to 1 000. */
export const WAITING = `least(1000, (select count(*) from (select from webhook_ready r where r.endpoint_id = w.endpoint_id limit 1000) r)
    + coalesce((select r.count from retries r where r.endpoint_id = w.endpoint_id), 0))::int`

/** The latest deliveries of an endpoint that its success rate is counted over. */
export const RATED_DELIVERIES = 100

export type EndpointOverview = WebhookEndpoint & {
  companyId: string
  companyName: string
  waiting: number
  recent: {
    delivered: number
    failed: number
    /** Every attempt so far failed, and another one follows. */
    retrying: number
    lastDeliveredAt: string | null
    /** The newest of them whose last attempt failed. */
    lastFailure: { at: string; status: number | null; error: string | null } | null
  }
}

export type EndpointFilter = {
  companyId: string | null
  webhookId: string | null
  state: 'enabled' | 'failing' | 'disabled' | null
  /** The last one of the page before. */
  after: { companyName: string; id: string } | null
  limit: number
}

const STATES = {
  enabled: 'w.disabled_at is null',
  failing: 'w.disabled_at is null and s.failing_since is not null',
  disabled: 'w.disabled_at is not null',
} as const

/** Live and test endpoints, by company and age. */
export async function listEndpointOverviews(db: Queryable, filter: EndpointFilter): Promise<EndpointOverview[]> {
  const { companyId, webhookId, state, after, limit } = filter
  return runUnprepared<EndpointOverview>(
    db,
    `${WITH_RETRIES}, page as materialized (
       select w.*, c.name as company_name, s.failing_since from webhook_endpoints w join companies c using (company_id)
       left join webhook_state s using (endpoint_id)
       where ${NOT_DELETED} and ($1::uuid is null or w.company_id = $1) and ($2::uuid is null or w.endpoint_id = $2)
         and ($3::text is null or (c.name, w.endpoint_id) > ($3, $4::uuid)) and ${state ? STATES[state] : 'true'}
       order by c.name, w.endpoint_id limit $5)
     select ${ENDPOINT_COLUMNS}, w.company_id, w.company_name,
       ${WAITING} as waiting, ${RECENT} as recent
     from page w order by w.company_name, w.endpoint_id`,
    [companyId, webhookId, after?.companyName ?? null, after?.id ?? null, limit],
  )
}

const RECENT = `(select json_build_object(
    'delivered', count(*) filter (where d.status = 'delivered'), 'failed', count(*) filter (where d.status = 'failed'),
    'retrying', count(*) filter (where d.status = 'waiting' and d.attempts > 0),
    'lastDeliveredAt', ${iso(`max(d.last_attempt_at) filter (where d.status = 'delivered')`)},
    'lastFailure', (array_agg(json_build_object('at', ${iso('d.last_attempt_at')}, 'status', d.last_status, 'error', d.last_error)
      order by d.last_attempt_at desc) filter (where d.status <> 'delivered' and d.last_attempt_at is not null))[1])
  from (select * from webhook_deliveries d where d.endpoint_id = w.endpoint_id order by d.delivery_id desc limit ${RATED_DELIVERIES}) d)`

export type EndpointCounts = { enabled: number; failing: number; disabled: number }

/** Of all companies. */
export async function countEndpoints(db: Queryable): Promise<EndpointCounts> {
  const [row] = await sql<EndpointCounts>(db, 'count-webhook-endpoints')`
    select ${Object.entries(STATES)
      .map(([name, condition]) => `(count(*) filter (where ${condition}))::int as ${name}`)
      .join(', ')}
     from webhook_endpoints w left join webhook_state s using (endpoint_id) where ${NOT_DELETED}`
  return row!
}

export type CompanyWebhooks = {
  enabled: number
  /** Enabled, and no success since an attempt failed. */
  failing: number
  /** Disabled by the gateway because of their responses; the latest first. */
  disabled: { webhookId: string; reason: 'GONE' | 'FAILING'; disabledAt: string }[]
}

/** Only companies with endpoints. */
export async function listCompanyWebhooks(db: Queryable): Promise<Map<string, CompanyWebhooks>> {
  const rows = await sql<CompanyWebhooks & { companyId: string }>(db, 'list-company-webhooks')`
    select w.company_id as "companyId", (count(*) filter (where w.disabled_at is null))::int as enabled,
       (count(*) filter (where w.disabled_at is null and s.failing_since is not null))::int as failing,
       coalesce(json_agg(json_build_object('webhookId', w.endpoint_id, 'reason', w.disabled_reason, 'disabledAt', ${iso('w.disabled_at')})
         order by w.disabled_at desc) filter (where w.disabled_reason in ('GONE', 'FAILING')), '[]') as disabled
     from webhook_endpoints w left join webhook_state s using (endpoint_id)
     where w.disabled_reason is distinct from 'DELETED' group by w.company_id`
  return new Map(rows.map(({ companyId, ...webhooks }) => [companyId, webhooks]))
}

export type ListedEndpoint = WebhookEndpoint & { companyId: string; companyName: string; waiting: number }

const LISTED = fragment`${WITH_RETRIES}
  select ${ENDPOINT_COLUMNS}, w.company_id, c.name as "companyName", ${WAITING} as waiting
  from webhook_endpoints w join companies c on c.company_id = w.company_id where ${NOT_DELETED}`

/** Live and test endpoints. companyId null: of all companies. */
export async function listAllEndpoints(db: Queryable, companyId: string | null): Promise<ListedEndpoint[]> {
  return sql<ListedEndpoint>(db, 'list-all-webhook-endpoints')`
    ${LISTED} and (${companyId}::uuid is null or w.company_id = ${companyId}::uuid) order by c.name, w.endpoint_id`
}

export async function findAnyEndpoint(db: Queryable, endpointId: string): Promise<ListedEndpoint | null> {
  const [row] = await sql<ListedEndpoint>(db, 'find-any-webhook-endpoint')`
    ${LISTED} and w.endpoint_id = ${endpointId}`
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
  const [row] = await sql<EndpointQueue>(db, 'read-endpoint-queue')`
    with tried as (
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select r.delivery_id from webhook_ready r where r.endpoint_id = ${endpointId} order by r.sequence limit 100) r
        join webhook_deliveries d on d.endpoint_id = ${endpointId} and d.delivery_id = r.delivery_id where d.attempts > 0)
       union all
       (select d.last_attempt_at, d.last_status, d.last_error
        from (select * from webhook_deliveries where due_at is not null limit 10000) d where d.endpoint_id = ${endpointId})
     )
     select ${iso('s.failing_since')} as "failingSince",
       (select coalesce(t.last_error, t.last_status::text) from tried t order by t.last_attempt_at desc nulls last limit 1) as "lastError",
       (select count(*) from (select from webhook_ready r where r.endpoint_id = ${endpointId} and r.sequence < d.sequence limit 1000) r)::int as before,
       (case when s.resume_at > now() then extract(epoch from s.resume_at - now()) * 1000 else 0 end)::float8 as "resumesInMs"
     from webhook_deliveries d join webhook_state s using (endpoint_id) where d.endpoint_id = ${endpointId} and d.delivery_id = ${deliveryId}`
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
  const [row] = await sql<DeliveryState>(db, 'find-delivery-for-operator')`
    select delivery_id as id, status, attempts, last_status, last_error,
       last_duration_ms
     from webhook_deliveries where endpoint_id = ${endpointId} and delivery_id = ${deliveryId}`
  return row ?? null
}
