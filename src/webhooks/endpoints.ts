import { type Author, changedFields, writeAudit } from '../audit/audit.ts'
import type { Owner } from '../companies/keys.ts'
import { decrypt, encrypt, type KeyRing } from '../platform/encryption.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, inTransaction, iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { invalidField, Problem } from '../web/problem.ts'
import { makeWebhookSecret } from './deliver.ts'
import { putTestDelivery, replayDelivery } from './deliveries.ts'
import { refuseWebhookUrl } from './request.ts'
import {
  WEBHOOK_LIMITS,
  type WebhookChange,
  type WebhookDelivery,
  type WebhookEndpoint,
  type WebhookWithSecret,
} from './view.ts'

export type WebhookDeps = {
  db: Database
  webhooks: { keys: KeyRing; allowPrivate: boolean; onEnqueued: () => void }
}

/** Whose endpoints: a key has those of its mode; test null: an administrator has both. */
export type EndpointOwner = { companyId: string; test: boolean | null }

export const ENDPOINT_COLUMNS = fragment`w.endpoint_id as id, w.format, w.test, w.url, w.description, w.event_types, w.disabled_at is null as enabled,
  ${iso('w.disabled_at')} as "disabledAt", w.disabled_reason,
  (select ${iso('s.failing_since')} from webhook_state s where s.endpoint_id = w.endpoint_id) as "failingSince",
  case when w.previous_until > now() then ${iso('w.previous_until')} end as "previousSecretUntil",
  ${iso('w.created_at')} as "createdAt", ${iso('w.updated_at')} as "updatedAt"`
export const NOT_DELETED = fragment`w.disabled_reason is distinct from 'DELETED'`

export async function listEndpoints(db: Queryable, { companyId, test }: Owner): Promise<WebhookEndpoint[]> {
  return sql<WebhookEndpoint>(db, 'list-webhook-endpoints')`
    select ${ENDPOINT_COLUMNS} from webhook_endpoints w where w.company_id = ${companyId} and w.test = ${test} and ${NOT_DELETED} order by w.endpoint_id`
}

/** 404 also for an endpoint of another company or mode, so that an answer does not reveal that it exists. */
export async function requireEndpoint(db: Queryable, owner: EndpointOwner, id: string): Promise<WebhookEndpoint> {
  return foundOr404(isUuid(id) ? await findEndpoint(db, owner, id) : null)
}

async function findEndpoint(db: Queryable, { companyId, test }: EndpointOwner, id: string) {
  const [row] = await sql<WebhookEndpoint>(db, 'find-webhook-endpoint')`
    select ${ENDPOINT_COLUMNS} from webhook_endpoints w
     where w.company_id = ${companyId} and w.endpoint_id = ${id} and w.test = coalesce(${test}, w.test) and ${NOT_DELETED}`
  return row ?? null
}

/** Thrown outside of transactions, since an error in one costs its connection. */
function foundOr404<T>(found: T | null): T {
  if (found === null) throw new Problem('NOT_FOUND')
  return found
}

export function refuseUrl(path: string, url: string, { webhooks }: WebhookDeps): void {
  const message = refuseWebhookUrl(url, webhooks.allowPrivate)
  if (message) throw invalidField(path, message, 'INVALID_WEBHOOK_URL')
}

export type NewEndpoint = Pick<WebhookEndpoint, 'url' | 'eventTypes' | 'format'> & {
  description?: string | null | undefined
}

/** Locks the company, so that simultaneous calls count its endpoints correctly. */
export async function addEndpoint(
  { db, webhooks }: WebhookDeps,
  { companyId, test }: Owner,
  { url, description = null, eventTypes, format }: NewEndpoint,
  author: Author,
): Promise<WebhookWithSecret> {
  const { secret, cipher } = newSecret(companyId, webhooks.keys)
  const added = await inTransaction(db.pool, async tx => {
    const [row] = await sql<WebhookEndpoint>(tx, 'insert-webhook-endpoint')`
      with company as materialized (
        select company_id from companies where company_id = ${companyId} for update
      ), w as (
        insert into webhook_endpoints (endpoint_id, company_id, url, description, event_types, secret_cipher, test, format)
        select ${db.clock.newId()}, company.company_id, ${url}, ${description}, ${eventTypes}, ${cipher}, ${test}, ${format} from company
        where webhook_endpoint_count(company.company_id, ${test}) < ${WEBHOOK_LIMITS.ENDPOINTS}
        returning *
      ), put_state as (
        insert into webhook_state (endpoint_id) select endpoint_id from w
      )
      select ${ENDPOINT_COLUMNS} from w`
    if (row) await audit(tx, companyId, row.id, author, 'WEBHOOK_CREATED', { after: settingsOf(row) })
    return row
  })
  if (!added)
    throw new Problem('WEBHOOK_LIMIT_REACHED', {
      detail: `A company has at most ${WEBHOOK_LIMITS.ENDPOINTS} webhook endpoints of each mode; remove one first.`,
    })
  return { ...added, secret }
}

/** Fields that are undefined stay. Enabling it or changing its URL resets the failures. */
export async function changeEndpoint(
  { db }: WebhookDeps,
  owner: EndpointOwner,
  { id }: WebhookEndpoint,
  { url, description, eventTypes, enabled }: WebhookChange,
  author: Author,
): Promise<WebhookEndpoint> {
  const changed = await inTransaction(db.pool, async tx => {
    const before = await findEndpoint(tx, owner, id)
    await sql(tx, 'update-webhook-endpoint')`
      with w as (
        update webhook_endpoints w set url = coalesce(${url}, w.url), event_types = coalesce(${eventTypes}, w.event_types),
          description = case when ${description !== undefined}::boolean then ${description} else w.description end,
          disabled_at = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_at, now()) else w.disabled_at end,
          disabled_reason = case ${enabled}::boolean when true then null when false then coalesce(w.disabled_reason, 'MANUAL') else w.disabled_reason end,
          updated_at = now()
        where w.endpoint_id = ${id} and ${NOT_DELETED} returning w.endpoint_id
      )
      update webhook_state s set failures = 0, failing_since = null, resume_at = '-infinity' from w
      where s.endpoint_id = w.endpoint_id and (${enabled}::boolean or ${url !== undefined}::boolean)`
    const after = await findEndpoint(tx, owner, id)
    if (!before || !after) return null
    const fields = changedFields(settingsOf(before), settingsOf(after))
    if (fields) await audit(tx, owner.companyId, id, author, 'WEBHOOK_CHANGED', fields)
    return after
  })
  return foundOr404(changed)
}

/** Only marks it as deleted; purgeOldDeliveries removes it with its last delivery. */
export async function removeEndpoint(
  { db }: WebhookDeps,
  { companyId }: EndpointOwner,
  endpoint: WebhookEndpoint,
  author: Author,
): Promise<void> {
  const removed = await inTransaction(db.pool, async tx => {
    const rows = await sql(tx, 'delete-webhook-endpoint')`
      update webhook_endpoints w set disabled_at = coalesce(w.disabled_at, now()), disabled_reason = 'DELETED', updated_at = now()
       where w.endpoint_id = ${endpoint.id} and ${NOT_DELETED} returning 1`
    if (rows.length === 0) return null
    await audit(tx, companyId, endpoint.id, author, 'WEBHOOK_REMOVED', { before: settingsOf(endpoint) })
    return true
  })
  foundOr404(removed)
}

/** The old secret also signs for some hours. A still older secret is dropped. */
export async function renewSecret(
  { db, webhooks }: WebhookDeps,
  { companyId }: EndpointOwner,
  { id }: WebhookEndpoint,
  author: Author,
): Promise<WebhookWithSecret> {
  const { secret, cipher } = newSecret(companyId, webhooks.keys)
  const renewed = await inTransaction(db.pool, async tx => {
    const [row] = await sql<WebhookEndpoint>(tx, 'rotate-webhook-secret')`
      with w as (
        update webhook_endpoints w set previous_cipher = w.secret_cipher, previous_until = now() + ${WEBHOOK_LIMITS.OVERLAP_HOURS} * interval '1 hour',
          secret_cipher = ${cipher}, updated_at = now()
        where w.endpoint_id = ${id} and ${NOT_DELETED} returning *
      )
      select ${ENDPOINT_COLUMNS} from w`
    if (!row) return null
    const after = { previousSecretUntil: row.previousSecretUntil }
    await audit(tx, companyId, id, author, 'WEBHOOK_SECRET_ROTATED', { after })
    return row
  })
  return { ...foundOr404(renewed), secret }
}

/** The ciphertext is bound to company and column: copied elsewhere, it cannot be decrypted. */
const placeOf = (companyId: string) => ({ companyId, column: 'webhook_endpoints.secret' }) as const

function newSecret(companyId: string, keys: KeyRing) {
  const secret = makeWebhookSecret()
  return { secret, cipher: encrypt(secret, keys, placeOf(companyId)) }
}

/** The signing secret in use. */
export async function readSecret({ db, webhooks }: WebhookDeps, companyId: string, id: string): Promise<string> {
  const [row] = await sql<{ cipher: Buffer }>(db.pool, 'find-webhook-secret')`
    select secret_cipher as cipher from webhook_endpoints where endpoint_id = ${id} and company_id = ${companyId}`
  return decrypt(foundOr404(row ?? null).cipher, webhooks.keys, placeOf(companyId))
}

/** `author`: of an administrator, whose doing is audited. */
export async function sendTestEvent(
  db: Database,
  companyId: string,
  endpoint: WebhookEndpoint,
  author: Author | null,
): Promise<WebhookDelivery> {
  refuseDisabled(endpoint)
  const { id: endpointId } = endpoint
  const deliveryId = db.clock.newId()
  const data = { webhookId: endpointId, message: 'It works.' }
  return inTransaction(db.pool, async tx => {
    const put = await putTestDelivery(tx, { endpointId, companyId, deliveryId, data })
    if (author) await audit(tx, companyId, endpointId, author, 'WEBHOOK_TESTED', { after: { deliveryId } })
    return put
  })
}

/** Delivers it again, under the same id. */
export async function replayEvent(
  db: Database,
  companyId: string,
  endpoint: WebhookEndpoint,
  deliveryId: string,
  author: Author | null,
): Promise<WebhookDelivery> {
  refuseDisabled(endpoint)
  if (!isUuid(deliveryId)) throw new Problem('NOT_FOUND')
  const replayed = await inTransaction(db.pool, async tx => {
    const delivery = await replayDelivery(tx, endpoint.id, deliveryId)
    if (delivery && author) {
      const after = { deliveryId, type: delivery.type }
      await audit(tx, companyId, endpoint.id, author, 'WEBHOOK_REPLAYED', { after })
    }
    return delivery
  })
  return foundOr404(replayed)
}

function refuseDisabled({ enabled, disabledReason }: WebhookEndpoint): void {
  if (!enabled)
    throw new Problem('WEBHOOK_DISABLED', {
      detail: `It was disabled (${disabledReason}); enable it first: PATCH {"enabled": true}.`,
    })
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
