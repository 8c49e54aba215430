import type { FastifyRequest } from 'fastify'
import type { Owner } from '../contracts/api-key.ts'
import { type CipherContext, decrypt, encrypt, type KeyRing } from '../contracts/encryption.ts'
import { makeWebhookSecret } from '../contracts/webhooks/signature.ts'
import type { WebhookEndpoint } from '../contracts/webhooks/view.ts'
import { WEBHOOK_LIMITS } from '../contracts/webhooks/view.ts'
import type { Author } from '../db/audited-change.ts'
import type { Database } from '../db/pool.ts'
import * as changes from '../db/webhooks/changes.ts'
import { findEndpoint, findSecretCipher, type NewEndpoint } from '../db/webhooks/endpoints.ts'
import { refuseWebhookUrl } from '../webhooks/address-check.ts'
import { ownerOf } from './auth.ts'
import type { KeyRegistry } from './key-registry.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { invalidField, Problem } from './problem.ts'

export type WebhookRouteDeps = {
  db: Database
  keys: KeyRegistry
  pepper: string
  webhooks: { keys: KeyRing; allowPrivate: boolean; onEnqueued: () => void }
}

export const refusals = problemAnswers(400, 401, 403, 404, 503)

/** 404 also for an endpoint of another company or mode, so that an answer does not reveal that it exists. */
export async function findOwnEndpoint(request: FastifyRequest, db: Database): Promise<WebhookEndpoint> {
  const endpoint = await findEndpoint(db.pool, ownerOf(request), uuidParam(request, 'id'))
  if (!endpoint) throw new Problem('NOT_FOUND')
  return endpoint
}

export type WebhookWithSecret = WebhookEndpoint & { secret: string }
type Wanted = Pick<NewEndpoint, 'url' | 'description' | 'eventTypes' | 'format'>

/** Also the routes of administrators: they name the owner and the author. */
export async function addEndpoint(
  owner: Owner,
  author: Author,
  wanted: Wanted,
  { db, webhooks }: Pick<WebhookRouteDeps, 'db' | 'webhooks'>,
): Promise<WebhookWithSecret> {
  const secret = makeWebhookSecret()
  const secretCipher = encrypt(secret, webhooks.keys, secretPlace(owner))
  const endpoint = { ...wanted, endpointId: db.clock.newId(), owner, secretCipher }
  const added = await changes.addEndpoint(db.pool, endpoint, WEBHOOK_LIMITS.ENDPOINTS, author)
  if (!added)
    throw new Problem('WEBHOOK_LIMIT_REACHED', {
      detail: `A company has at most ${WEBHOOK_LIMITS.ENDPOINTS} webhook endpoints of each mode; remove one first.`,
    })
  return { ...added, secret }
}

export async function renewSecret(
  owner: Owner,
  author: Author,
  endpointId: string,
  { db, webhooks }: Pick<WebhookRouteDeps, 'db' | 'webhooks'>,
): Promise<WebhookWithSecret> {
  const secret = makeWebhookSecret()
  const renewal = {
    cipher: encrypt(secret, webhooks.keys, secretPlace(owner)),
    overlapHours: WEBHOOK_LIMITS.OVERLAP_HOURS,
  }
  const endpoint = await changes.renewSecret(db.pool, owner, endpointId, renewal, author)
  if (!endpoint) throw new Problem('NOT_FOUND')
  return { ...endpoint, secret }
}

/** The signing secret in use. */
export async function readSecret(request: FastifyRequest, { db, webhooks }: WebhookRouteDeps): Promise<string> {
  const owner = ownerOf(request)
  const cipher = await findSecretCipher(db.pool, owner, uuidParam(request, 'id'))
  if (!cipher) throw new Problem('NOT_FOUND')
  return decrypt(cipher, webhooks.keys, secretPlace(owner))
}

/** The ciphertext is bound to company and column: copied elsewhere, it cannot be decrypted. */
function secretPlace({ companyId }: Owner): CipherContext {
  return { companyId, column: 'webhook_endpoints.secret' }
}

export function refuseUrl(path: string, url: string, { webhooks }: Pick<WebhookRouteDeps, 'webhooks'>): void {
  const message = refuseWebhookUrl(url, webhooks.allowPrivate)
  if (message) throw invalidField(path, message, 'INVALID_WEBHOOK_URL')
}
