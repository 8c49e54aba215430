import { z } from 'zod'
import { fragment, iso, type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED } from './endpoints.ts'
import { webhookSchema } from './view.ts'

/**
 * The deliveries of each endpoint that wait for a later attempt, for the `with` of a statement. They have no index by endpoint, so
 * they are read once for all endpoints, and not more of them than can be read at every glance.
 */
export const WITH_RETRIES = fragment`with retries as materialized (
    select d.endpoint_id, count(*) as count from (select endpoint_id from webhook_deliveries where due_at is not null limit 10000) d
    group by d.endpoint_id)`

/** Of the endpoint w: what is ready and what is due later, up to 1 000. */
export const WAITING = fragment`least(1000, (select count(*) from (select from webhook_ready r where r.endpoint_id = w.endpoint_id limit 1000) r)
    + coalesce((select r.count from retries r where r.endpoint_id = w.endpoint_id), 0))::int`

/** The latest deliveries of an endpoint that its success rate is counted over. */
const RATED_DELIVERIES = 100

const instant = z.iso.datetime()
export const webhookOverviewSchema = webhookSchema
  .extend({
    companyId: z.uuid(),
    companyName: z.string(),
    waiting: z.int().describe('Deliveries that are ready, or due for another attempt later; counted up to 1000'),
    recent: z
      .object({
        delivered: z.int(),
        failed: z.int(),
        retrying: z.int().describe('Every attempt so far failed, and another one follows'),
        lastDeliveredAt: instant.nullable(),
        lastFailure: z.object({ at: instant, status: z.int().nullable(), error: z.string().nullable() }).nullable(),
      })
      .describe(`Of its latest ${RATED_DELIVERIES} deliveries`),
  })
  .meta({ id: 'WebhookOverview' })
type EndpointOverview = z.infer<typeof webhookOverviewSchema>

type EndpointFilter = {
  companyId?: string | undefined
  webhookId?: string | undefined
  state?: keyof typeof STATES | undefined
  /** The last one of the page before. */
  after?: { companyName: string; id: string } | undefined
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
    [companyId ?? null, webhookId ?? null, after?.companyName ?? null, after?.id ?? null, limit],
  )
}

const RECENT = `(select json_build_object(
    'delivered', count(*) filter (where d.status = 'delivered'), 'failed', count(*) filter (where d.status = 'failed'),
    'retrying', count(*) filter (where d.status = 'waiting' and d.attempts > 0),
    'lastDeliveredAt', ${iso(`max(d.last_attempt_at) filter (where d.status = 'delivered')`)},
    'lastFailure', (array_agg(json_build_object('at', ${iso('d.last_attempt_at')}, 'status', d.last_status, 'error', d.last_error)
      order by d.last_attempt_at desc) filter (where d.status <> 'delivered' and d.last_attempt_at is not null))[1])
  from (select * from webhook_deliveries d where d.endpoint_id = w.endpoint_id order by d.delivery_id desc limit ${RATED_DELIVERIES}) d)`

const COUNTS = fragment`${Object.entries(STATES)
  .map(([name, condition]) => `(count(*) filter (where ${condition}))::int as ${name}`)
  .join(', ')}`

/** Of all companies. */
export async function countEndpoints(db: Queryable): Promise<Record<keyof typeof STATES, number>> {
  const [row] = await sql<Record<keyof typeof STATES, number>>(db, 'count-webhook-endpoints')`
    select ${COUNTS}
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
