import type { FastifyRequest } from 'fastify'
import type { Owner } from '../contracts/api-key.ts'
import type { Database } from '../db/pool.ts'
import { type EndpointOverview, listEndpointOverviews } from '../db/webhooks/overview.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'

/** Of any company. */
export async function findAdminEndpoint(request: FastifyRequest, db: Database): Promise<EndpointOverview> {
  const webhookId = uuidParam(request, 'webhookId')
  const [endpoint] = await listEndpointOverviews(db.pool, {
    companyId: null,
    webhookId,
    state: null,
    after: null,
    limit: 1,
  })
  if (!endpoint) throw new Problem('NOT_FOUND', { detail: 'There is no such webhook endpoint.' })
  return endpoint
}

export const ownerOfEndpoint = ({ companyId, test }: EndpointOverview): Owner => ({ companyId, test })
