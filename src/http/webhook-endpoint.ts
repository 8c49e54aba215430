import type { FastifyRequest } from 'fastify'
import type { KeyRing } from '../contracts/encryption.ts'
import type { Database } from '../db/pool.ts'
import { findEndpoint, type WebhookEndpoint } from '../db/webhooks/endpoints.ts'
import { ownerOf } from './auth.ts'
import type { KeyRegistry } from './key-registry.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'

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
