import type { FastifyRequest } from 'fastify'
import { type CipherContext, decrypt, encrypt, type KeyRing } from '../contracts/encryption.ts'
import { makeWebhookSecret } from '../contracts/webhooks/signature.ts'
import { WEBHOOK_LIMITS } from '../contracts/webhooks/view.ts'
import type { Database } from '../db/pool.ts'
import {
  findEndpoint,
  findSecretCipher,
  insertEndpoint,
  type NewEndpoint,
  rotateSecret,
  type WebhookEndpoint,
} from '../db/webhooks/endpoints.ts'
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

export async function addEndpoint(
  request: FastifyRequest,
  wanted: Wanted,
  { db, webhooks }: WebhookRouteDeps,
): Promise<WebhookWithSecret> {
  const secret = makeWebhookSecret()
  const secretCipher = encrypt(secret, webhooks.keys, secretPlace(request))
  const endpoint = await insertEndpoint(
    db.pool,
    { ...wanted, endpointId: db.clock.newId(), owner: ownerOf(request), secretCipher },
    WEBHOOK_LIMITS.ENDPOINTS,
  )
  if (!endpoint)
    throw new Problem('WEBHOOK_LIMIT_REACHED', {
      detail: `A company has at most ${WEBHOOK_LIMITS.ENDPOINTS} webhook endpoints of each mode; remove one first.`,
    })
  return { ...endpoint, secret }
}

export async function renewSecret(
  request: FastifyRequest,
  { db, webhooks }: WebhookRouteDeps,
): Promise<WebhookWithSecret> {
  const id = uuidParam(request, 'id')
  const secret = makeWebhookSecret()
  const cipher = encrypt(secret, webhooks.keys, secretPlace(request))
  const endpoint = await rotateSecret(db.pool, ownerOf(request), id, cipher, WEBHOOK_LIMITS.OVERLAP_HOURS)
  if (!endpoint) throw new Problem('NOT_FOUND')
  return { ...endpoint, secret }
}

/** The signing secret in use. */
export async function readSecret(request: FastifyRequest, { db, webhooks }: WebhookRouteDeps): Promise<string> {
  const cipher = await findSecretCipher(db.pool, ownerOf(request), uuidParam(request, 'id'))
  if (!cipher) throw new Problem('NOT_FOUND')
  return decrypt(cipher, webhooks.keys, secretPlace(request))
}

/** The ciphertext is bound to company and column: copied elsewhere, it cannot be decrypted. */
function secretPlace(request: FastifyRequest): CipherContext {
  return { companyId: request.key!.companyId, column: 'webhook_endpoints.secret' }
}

export function refuseUrl(path: string, url: string, { webhooks }: WebhookRouteDeps): void {
  const message = refuseWebhookUrl(url, webhooks.allowPrivate)
  if (message) throw invalidField(path, message, 'INVALID_WEBHOOK_URL')
}
