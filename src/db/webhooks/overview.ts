import type { WebhookEndpoint } from '../../contracts/webhooks/view.ts'
import { iso, type Queryable, run, runUnprepared } from '../query.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED } from './endpoints.ts'
import { WAITING, WITH_RETRIES } from './waiting.ts'

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
     select ${ENDPOINT_COLUMNS}, w.company_id as "companyId", w.company_name as "companyName",
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
  const [row] = await run<EndpointCounts>(
    db,
    'count-webhook-endpoints',
    `select ${Object.entries(STATES)
      .map(([name, condition]) => `(count(*) filter (where ${condition}))::int as ${name}`)
      .join(', ')}
     from webhook_endpoints w left join webhook_state s using (endpoint_id) where ${NOT_DELETED}`,
    [],
  )
  return row!
}
