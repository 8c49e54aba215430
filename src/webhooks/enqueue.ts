import { fragment, type Queryable, sql } from '../platform/postgres/query.ts'

/**
 * CTEs for the statement that writes an e-mail's event: one delivery for each endpoint that asked for its type, in the same
 * commit. `events` selects company_id, test, outbox_id, event_id and type, of e-mails whose rows the statement has locked: that makes
 * the sequence rise per e-mail. The filter that depends on no row is asked once per statement: without any endpoint in the
 * gateway nothing else of this runs.
 */
export const enqueueWebhooks = (events: string) => fragment`put_deliveries as (
  insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, outbox_id, event_id)
  select w.endpoint_id, uuid_v7_now(), w.company_id, e.type, e.outbox_id, e.event_id
  from (${events}) e join webhook_endpoints w on w.company_id = e.company_id and w.test = e.test and w.disabled_at is null and e.type = any(w.event_types)
  where exists (select from webhook_endpoints where disabled_at is null)
  returning endpoint_id, sequence, delivery_id
), put_ready_deliveries as (
  insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from put_deliveries
)`

export type CompanyNotice = {
  companyId: string
  type: 'company.warned' | 'company.paused' | 'company.dead_letters' | 'webhook.disabled'
  data: Record<string, unknown>
}

/**
 * Something about the company itself, which is live data. Endpoints hear of it when they asked for it; that one of them was disabled, all the
 * others hear.
 */
export async function putCompanyNotice(db: Queryable, { companyId, type, data }: CompanyNotice): Promise<void> {
  await sql(db, 'put-company-notice')`
    with put_deliveries as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       select endpoint_id, uuid_v7_now(), company_id, ${type}, ${JSON.stringify(data)} from webhook_endpoints
       where company_id = ${companyId} and not test and disabled_at is null and (${type} = any(event_types) or ${type} = 'webhook.disabled')
       returning endpoint_id, sequence, delivery_id
     )
     insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from put_deliveries`
}
