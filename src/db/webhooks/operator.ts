import { type Queryable, run } from '../query.ts'
import type { WebhookDelivery } from './deliveries.ts'
import { ENDPOINT_COLUMNS, NOT_DELETED, type WebhookEndpoint } from './endpoints.ts'
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
