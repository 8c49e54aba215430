import type pg from 'pg'
import type { Owner } from '../../contracts/api-key.ts'
import type { WebhookChange, WebhookDelivery, WebhookEndpoint } from '../../contracts/webhooks/view.ts'
import { writeAudit } from '../audit.ts'
import { type Author, changedFields } from '../audited-change.ts'
import { inTransaction, type Queryable } from '../query.ts'
import { putTestDelivery, replayDelivery } from './deliveries.ts'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  type NewEndpoint,
  rotateSecret,
  updateEndpoint,
} from './endpoints.ts'

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
