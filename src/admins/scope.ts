import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { maskAnswer } from '../platform/text/masking.ts'
import { neededRole } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import type { AdminAuth } from './authorize.ts'

/** Rules for every route of this scope: each asks for a login, says which role it needs, and shows viewers no address. */
export function protectAdminScope(scope: App, authorize: AdminAuth['authorize']): void {
  const masked = new WeakSet<FastifyRequest>()

  scope.addHook('onRoute', route => {
    if (![route.onRequest].flat().includes(authorize as never))
      throw new Error(`The admin route ${route.method} ${route.url} lacks authorize in its onRequest`)
    describeRole(route)
  })

  scope.addHook('preSerialization', async (request, _reply, payload) => {
    if (request.adminRole !== 'viewer') return payload
    masked.add(request)
    return maskAnswer(payload)
  })

  // Text, files and streams do not pass preSerialization. A route that answers them and forgot to say so is refused here.
  scope.addHook('onSend', async (request, reply, payload) => {
    if (request.adminRole !== 'viewer' || masked.has(request) || !hasContent(reply, payload)) return payload
    throw new Problem('INSUFFICIENT_ROLE', { detail: 'This answer cannot be masked, so viewers do not get it.' })
  })
}

const hasContent = (reply: FastifyReply, payload: unknown) =>
  reply.statusCode < 300 && payload !== null && payload !== undefined && payload !== ''

/** In the OpenAPI document. */
function describeRole(route: RouteOptions): void {
  const { config, method, schema } = route
  if (config?.public) return
  const needed = neededRole([method].flat()[0]!, config ?? {})
  const given = schema?.description ? `${schema.description} ` : ''
  route.schema = {
    ...schema,
    description: `${given}Role: ${needed}.`,
    response: { ...(needed !== 'viewer' && problemAnswers(403)), ...(schema?.response as object) },
  }
}
