import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { issueKey, withdrawKey } from '../../companies/changes.ts'
import { countActiveKeys, listKeys } from '../../companies/keys.ts'
import { authorOf, ownerOf, requireKey } from '../../companies/require-key.ts'
import { SCOPES, type Scope } from '../../web/access.ts'
import { Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { described, idParams, type PageQuery, pageOf, pageQuery } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'

const PERMISSION_SCOPES = { full_access: [...SCOPES], sending_access: ['send'] } as const satisfies Record<
  string,
  Scope[]
>

/** Of companies' own making: each is a row that lists read, and an entry of the audit log. */
const MAX_KEYS = 1_000

const newKeyBody = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .refine(text => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters'),
    permission: z.enum(['full_access', 'sending_access']).default('full_access'),
    domain_id: z
      .undefined('is not offered: the sender domains belong to the company, and count for all its keys')
      .optional(),
  })
  .meta({ example: { name: 'mailer', permission: 'sending_access' } })

export function resendApiKeyRoutes(app: App, deps: ResendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  app.post('/api-keys', { onRequest, schema: described('Make an API key', { body: newKeyBody }) }, (request, reply) =>
    create(request, reply, deps),
  )
  app.get('/api-keys', { onRequest, schema: described('API keys', { querystring: pageQuery }) }, request =>
    list(request, deps),
  )
  app.delete('/api-keys/:id', { onRequest, schema: described('Revoke an API key', { params: idParams }) }, request =>
    remove(request, deps),
  )
}

/** A key of the caller's company and mode, with no more scopes than the caller has. */
async function create(request: FastifyRequest, reply: FastifyReply, { db, pepper }: ResendRouteDeps) {
  const { name, permission } = request.body as z.output<typeof newKeyBody>
  const { companyId, mode, scopes: own } = request.key!
  const scopes: Scope[] = [...PERMISSION_SCOPES[permission]]
  const missing = scopes.filter(scope => !own.includes(scope))
  if (missing.length > 0) {
    const detail = `This API key cannot give ${permission}: it has the scopes ${own.join(', ')}, and not ${missing.join(', ')}.`
    throw new Problem('INSUFFICIENT_SCOPE', { detail })
  }
  if ((await countActiveKeys(db.pool, companyId)) >= MAX_KEYS)
    throw new Problem('API_KEY_LIMIT_REACHED', {
      detail: `A company has at most ${MAX_KEYS} API keys; revoke one first.`,
    })
  const { keyId, apiKey } = await issueKey(db.pool, pepper, { companyId, mode, scopes, name }, authorOf(request))
  return reply.code(201).send({ id: keyId, token: apiKey })
}

async function list(request: FastifyRequest, { db }: ResendRouteDeps) {
  const { companyId, mode } = request.key!
  const keys = (await listKeys(db.pool, companyId)).filter(key => key.mode === mode && key.revokedAt === null)
  const items = keys.reverse().map(({ keyId, name, createdAt, lastUsedAt }) => ({
    id: keyId,
    name: name ?? '',
    created_at: createdAt,
    last_used_at: lastUsedAt,
  }))
  return pageOf(items, request.query as PageQuery)
}

async function remove(request: FastifyRequest, { db }: ResendRouteDeps) {
  const { id } = request.params as z.output<typeof idParams>
  if (!/^[0-9a-z]{16}$/.test(id) || !(await withdrawKey(db.pool, id, ownerOf(request), authorOf(request))))
    throw new Problem('NOT_FOUND', { detail: 'API key not found' })
  return { object: 'api_key', id, deleted: true }
}
