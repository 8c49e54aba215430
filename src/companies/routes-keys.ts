import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { SCOPES } from '../web/access.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { issueKey, withdrawKey } from './changes.ts'
import {
  ADMINISTRATORS,
  adminAuthor,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyParams,
  knownCompany,
  onlyReason,
  reasonSchema,
} from './company-of-request.ts'
import { type KeyListing, listKeys } from './keys.ts'
import type { AdminKeyDeps } from './routes.ts'
import { COMPANY_LIMITS } from './settings.ts'

const instant = z.iso.datetime()
const keySchema = z
  .object({
    keyId: z.string(),
    mode: z.enum(['live', 'test']),
    scopes: z.array(z.enum(SCOPES)),
    name: z.string().nullable(),
    createdAt: instant,
    lastUsedAt: instant.nullable(),
    revokedAt: instant.nullable(),
  })
  .meta({ id: 'ApiKey' })
const newKeyBody = z
  .strictObject({
    name: z
      .string()
      .trim()
      .max(COMPANY_LIMITS.KEY_NAME_CHARS)
      .refine(text => !/[\u0000-\u001f\u007f]/.test(text), 'must not contain control characters')
      .transform(text => text || null)
      .nullable()
      .default(null),
    mode: z.enum(['live', 'test']).default('live').describe('test: its e-mails are never sent to a provider'),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .default([...SCOPES])
      .transform(scopes => [...new Set(scopes)]),
    reason: reasonSchema,
  })
  .meta({ id: 'NewApiKey', example: { name: 'shop', mode: 'live', scopes: ['send'] } })
const madeSchema = z
  .object({ keyId: z.string(), apiKey: z.string().describe('Shown now and never again') })
  .meta({ id: 'ApiKeyWithSecret' })
const revokedSchema = z.object({ keyId: z.string(), revoked: z.literal(true) })

const listSchema = {
  summary: 'API keys of a company, newest first, without their secrets',
  ...adminDescription,
  params: companyParams,
  response: { 200: z.object({ data: z.array(keySchema) }), ...adminRefusals },
}
const createSchema = {
  summary: 'Create an API key; the answer shows it, once',
  ...adminDescription,
  params: companyParams,
  body: newKeyBody,
  response: { 201: madeSchema, ...adminRefusals, ...adminBodyRefusals },
}
const revokeSchema = {
  summary: 'Revoke an API key: every process refuses it within a second',
  ...adminDescription,
  params: companyParams.extend({ keyId: z.string().max(100) }),
  body: onlyReason,
  response: { 200: revokedSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminCompanyKeyRoutes(app: App, deps: AdminKeyDeps): void {
  const { onRequest } = deps
  const changing = { onRequest, config: ADMINISTRATORS }
  app.get('/admin/companies/:companyId/keys', { onRequest, schema: listSchema }, async request => {
    const { companyId } = await knownCompany(request, deps.db)
    return { data: (await listKeys(deps.db.pool, companyId)).reverse().map(toView) }
  })
  app.post('/admin/companies/:companyId/keys', { ...changing, schema: createSchema }, (request, reply) =>
    create(request, reply, deps),
  )
  app.post('/admin/companies/:companyId/keys/:keyId/revoke', { ...changing, schema: revokeSchema }, request =>
    revoke(request, deps),
  )
}

async function create(request: FastifyRequest, reply: FastifyReply, { db, pepper }: AdminKeyDeps) {
  const { companyId } = await knownCompany(request, db)
  const { name, mode, scopes } = request.body as z.output<typeof newKeyBody>
  const key = await issueKey(db.pool, pepper, { companyId, mode, scopes, name }, adminAuthor(request))
  return reply.code(201).send(key)
}

async function revoke(request: FastifyRequest, { db }: AdminKeyDeps) {
  const { companyId } = await knownCompany(request, db)
  const { keyId } = request.params as { keyId: string }
  const known = (await listKeys(db.pool, companyId)).some(key => key.keyId === keyId)
  if (!known) throw new Problem('NOT_FOUND', { detail: 'The company has no such key.' })
  // One that was revoked before stays so.
  await withdrawKey(db.pool, keyId, { companyId }, adminAuthor(request))
  return { keyId, revoked: true as const }
}

function toView({ companyId: _, companyName: __, ...key }: KeyListing): z.output<typeof keySchema> {
  return {
    ...key,
    mode: key.mode as 'live' | 'test',
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
  }
}
