import type pg from 'pg'
import { type Author, changedFields, writeAudit } from '../audit/audit.ts'
import type { Owner } from '../companies/keys.ts'
import { fragment, inTransaction, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { putTestDelivery, replayDelivery } from './deliveries.ts'
import type { WebhookEventType } from './events.ts'
import type { WebhookChange, WebhookDelivery, WebhookEndpoint } from './view.ts'

export const ENDPOINT_COLUMNS = fragment`w.endpoint_id as id, w.format, w.test, w.url, w.description, w.event_types, w.disabled_at is null as enabled,
  ${iso('w.disabled_at')} as "disabledAt", w.disabled_reason,
  (select ${iso('s.failing_since')} from webhook_state s where s.endpoint_id = w.endpoint_id) as "failingSince",
  case when w.previous_until > now() then ${iso('w.previous_until')} end as "previousSecretUntil",
  ${iso('w.created_at')} as "createdAt", ${iso('w.updated_at')} as "updatedAt"`
export const NOT_DELETED = fragment`w.disabled_reason is distinct from 'DELETED'`

export type NewEndpoint = {
  endpointId: string
  owner: Owner
  format: WebhookEndpoint['format']
  url: string
  description: string | null
  eventTypes: WebhookEventType[]
  secretCipher: Buffer
}

/** null: the company already has `limit` endpoints of this mode. Locks the company, so that simultaneous calls count correctly. */
export async function insertEndpoint(
  db: Queryable,
  endpoint: NewEndpoint,
  limit: number,
): Promise<WebhookEndpoint | null> {
  const [row] = await sql<WebhookEndpoint>(db, 'insert-webhook-endpoint')`
    with company as materialized (
       select company_id from companies where company_id = ${endpoint.owner.companyId} for update
     ), w as (
       insert into webhook_endpoints (endpoint_id, company_id, url, description, event_types, secret_cipher, test, format)
       select ${endpoint.endpointId}, company.company_id, ${endpoint.url}, ${endpoint.description}, ${endpoint.eventTypes}, ${endpoint.secretCipher}, ${endpoint.owner.test}, ${endpoint.format} from company
       where webhook_endpoint_count(company.company_id, ${endpoint.owner.test}) < ${limit}
       returning *
     ), put_state as (
       insert into webhook_state (endpoint_id) select endpoint_id from w
     )
     select ${ENDPOINT_COLUMNS} from w`
  return row ?? null
}

export async function listEndpoints(db: Queryable, { companyId, test }: Owner): Promise<WebhookEndpoint[]> {
  return sql<WebhookEndpoint>(db, 'list-webhook-endpoints')`
    select ${ENDPOINT_COLUMNS} from webhook_endpoints w where w.company_id = ${companyId} and w.test = ${test} and ${NOT_DELETED} order by w.endpoint_id`
}

export async function findEndpoint(
  db: Queryable,
  { companyId, test }: Owner,
  endpointId: string,
): Promise<WebhookEndpoint | null> {
  const [row] = await sql<WebhookEndpoint>(db, 'find-webhook-endpoint')`
    select ${ENDPOINT_COLUMNS} from webhook_endpoints w where w.company_id = ${companyId} and w.endpoint_id = ${endpointId} and w.test = ${test} and ${NOT_DELETED}`
  return row ?? null
}

/** The encrypted signing secret in use. */
export async function findSecretCipher(
  db: Queryable,
  { companyId, test }: Owner,
  endpointId: string,
): Promise<Buffer | null> {
  const [row] = await sql<{ cipher: Buffer }>(db, 'find-webhook-secret')`
    select w.secret_cipher as cipher from webhook_endpoints w
     where w.company_id = ${companyId} and w.endpoint_id = ${endpointId} and w.test = ${test} and ${NOT_DELETED}`
  return row?.cipher ?? null
}

/** Fields that are undefined stay. Enabling it or changing its URL resets the failures. */
export async function updateEndpoint(
  db: Queryable,
  owner: Owner,
  endpointId: string,
  { url, description, eventTypes, enabled }: WebhookChange,
): Promise<WebhookEndpoint | null> {
  await run(
    db,
    'update-webhook-endpoint',
    `with w as (
       update webhook_endpoints w set url = coalesce($3, w.url), event_types = coalesce($4, w.event_types),
         description = case when $5 then $6 else w.description end,
         disabled_at = case $7::boolean when true then null when false then coalesce(w.disabled_at, now()) else w.disabled_at end,
         disabled_reason = case $7::boolean when true then null when false then coalesce(w.disabled_reason, 'MANUAL') else w.disabled_reason end,
         updated_at = now()
       where w.company_id = $1 and w.endpoint_id = $2 and w.test = $8 and ${NOT_DELETED} returning w.endpoint_id
     )
     update webhook_state s set failures = 0, failing_since = null, resume_at = '-infinity' from w
     where s.endpoint_id = w.endpoint_id and ($7 or $3 is not null)`,
    [
      owner.companyId,
      endpointId,
      url ?? null,
      eventTypes ?? null,
      description !== undefined,
      description ?? null,
      enabled ?? null,
      owner.test,
    ],
  )
  return findEndpoint(db, owner, endpointId)
}

/** Only marks it as deleted; purgeOldDeliveries removes it with its last delivery. */
export async function deleteEndpoint(db: Queryable, { companyId, test }: Owner, endpointId: string): Promise<boolean> {
  const rows = await sql(db, 'delete-webhook-endpoint')`
    update webhook_endpoints w set disabled_at = coalesce(w.disabled_at, now()), disabled_reason = 'DELETED', updated_at = now()
     where w.company_id = ${companyId} and w.endpoint_id = ${endpointId} and w.test = ${test} and ${NOT_DELETED} returning 1`
  return rows.length > 0
}

/** The old secret also signs for `overlapHours`. A still older secret is dropped. */
export async function rotateSecret(
  db: Queryable,
  { companyId, test }: Owner,
  endpointId: string,
  secretCipher: Buffer,
  overlapHours: number,
): Promise<WebhookEndpoint | null> {
  const [row] = await sql<WebhookEndpoint>(db, 'rotate-webhook-secret')`
    with w as (
       update webhook_endpoints w set previous_cipher = w.secret_cipher, previous_until = now() + ${overlapHours} * interval '1 hour',
         secret_cipher = ${secretCipher}, updated_at = now()
       where w.company_id = ${companyId} and w.endpoint_id = ${endpointId} and w.test = ${test} and ${NOT_DELETED} returning *
     )
     select ${ENDPOINT_COLUMNS} from w`
  return row ?? null
}

export type DisabledEndpoint = { endpointId: string; companyId: string; url: string }

/** null: it was disabled already. Otherwise the other endpoints of the company get one `webhook.disabled` delivery. */
export async function disableEndpoint(
  db: Queryable,
  endpointId: string,
  reason: 'GONE' | 'FAILING',
): Promise<DisabledEndpoint | null> {
  const [row] = await sql<DisabledEndpoint>(db, 'disable-webhook-endpoint')`
    with disabled as (
       update webhook_endpoints set disabled_at = now(), disabled_reason = ${reason}::text, updated_at = now()
       where endpoint_id = ${endpointId} and disabled_at is null returning endpoint_id, company_id, url, test
     ), put_notices as (
       insert into webhook_deliveries (endpoint_id, delivery_id, company_id, type, data)
       select w.endpoint_id, uuid_v7_now(), w.company_id, 'webhook.disabled',
         jsonb_build_object('webhookId', d.endpoint_id, 'url', d.url, 'reason', ${reason}::text)
       from disabled d join webhook_endpoints w on w.company_id = d.company_id and w.test = d.test and w.disabled_at is null and w.endpoint_id <> d.endpoint_id
       returning endpoint_id, sequence, delivery_id
     ), put_ready as (
       insert into webhook_ready (endpoint_id, sequence, delivery_id) select endpoint_id, sequence, delivery_id from put_notices
     ), counted as (
       insert into counters as c (name, label, value) select 'webhook_endpoints_disabled', ${reason}::text, 1 from disabled
       on conflict (name, label) do update set value = c.value + 1
     )
     select endpoint_id, company_id, url from disabled`
  return row ?? null
}

type Action =
  | 'WEBHOOK_CREATED'
  | 'WEBHOOK_CHANGED'
  | 'WEBHOOK_REMOVED'
  | 'WEBHOOK_SECRET_ROTATED'
  | 'WEBHOOK_TESTED'
  | 'WEBHOOK_REPLAYED'
type Change = { before?: Record<string, unknown>; after?: Record<string, unknown> }

function audit(tx: Queryable, companyId: string, subjectId: string, author: Author, action: Action, change: Change) {
  return writeAudit(tx, { ...author, subjectType: 'webhook', subjectId, companyId, action, ...change })
}

function settingsOf({ url, description, eventTypes, enabled, test }: WebhookEndpoint) {
  return { url, description, eventTypes, enabled, test }
}

/** null: the company already has `limit` endpoints of this mode. */
export async function addEndpoint(
  pool: pg.Pool,
  endpoint: NewEndpoint,
  limit: number,
  author: Author,
): Promise<WebhookEndpoint | null> {
  return inTransaction(pool, async tx => {
    const added = await insertEndpoint(tx, endpoint, limit)
    if (added)
      await audit(tx, endpoint.owner.companyId, added.id, author, 'WEBHOOK_CREATED', { after: settingsOf(added) })
    return added
  })
}

/** null: the owner has no such endpoint. */
export async function changeEndpoint(
  pool: pg.Pool,
  owner: Owner,
  endpointId: string,
  change: WebhookChange,
  author: Author,
): Promise<WebhookEndpoint | null> {
  return inTransaction(pool, async tx => {
    const before = await findEndpoint(tx, owner, endpointId)
    const after = await updateEndpoint(tx, owner, endpointId, change)
    if (!before || !after) return null
    const changed = changedFields(settingsOf(before), settingsOf(after))
    if (changed) await audit(tx, owner.companyId, endpointId, author, 'WEBHOOK_CHANGED', changed)
    return after
  })
}

/** false: the owner has no such endpoint. */
export async function removeEndpoint(
  pool: pg.Pool,
  owner: Owner,
  endpointId: string,
  author: Author,
): Promise<boolean> {
  return inTransaction(pool, async tx => {
    const before = await findEndpoint(tx, owner, endpointId)
    if (!before || !(await deleteEndpoint(tx, owner, endpointId))) return false
    await audit(tx, owner.companyId, endpointId, author, 'WEBHOOK_REMOVED', { before: settingsOf(before) })
    return true
  })
}

/** null: the owner has no such endpoint. */
export async function renewSecret(
  pool: pg.Pool,
  owner: Owner,
  endpointId: string,
  secret: { cipher: Buffer; overlapHours: number },
  author: Author,
): Promise<WebhookEndpoint | null> {
  return inTransaction(pool, async tx => {
    const renewed = await rotateSecret(tx, owner, endpointId, secret.cipher, secret.overlapHours)
    if (renewed) {
      const after = { previousSecretUntil: renewed.previousSecretUntil }
      await audit(tx, owner.companyId, endpointId, author, 'WEBHOOK_SECRET_ROTATED', { after })
    }
    return renewed
  })
}

/** By an administrator. */
export async function sendTestEvent(
  pool: pg.Pool,
  delivery: Parameters<typeof putTestDelivery>[1],
  author: Author,
): Promise<WebhookDelivery> {
  const { endpointId, companyId, deliveryId } = delivery
  return inTransaction(pool, async tx => {
    const put = await putTestDelivery(tx, delivery)
    await audit(tx, companyId, endpointId, author, 'WEBHOOK_TESTED', { after: { deliveryId } })
    return put
  })
}

/** By an administrator. null: there is no such delivery. */
export async function replayEvent(
  pool: pg.Pool,
  { endpointId, companyId, deliveryId }: { endpointId: string; companyId: string; deliveryId: string },
  author: Author,
): Promise<WebhookDelivery | null> {
  return inTransaction(pool, async tx => {
    const replayed = await replayDelivery(tx, endpointId, deliveryId)
    if (replayed)
      await audit(tx, companyId, endpointId, author, 'WEBHOOK_REPLAYED', { after: { deliveryId, type: replayed.type } })
    return replayed
  })
}
