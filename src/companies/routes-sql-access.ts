import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ConnectionTarget } from '../platform/postgres/connection.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import {
  ADMINISTRATORS,
  adminAuthor,
  adminBodyRefusals,
  adminDescription,
  adminRefusals,
  companyParams,
  knownCompany,
  onlyReason,
} from './company-of-request.ts'
import { grantSqlAccess, readSqlAccess, withdrawSqlAccess } from './sql-access.ts'

export type AdminSqlDeps = AdminRouteDeps & { database: ConnectionTarget }

const target = { host: z.string(), port: z.int(), database: z.string() }
const accessSchema = z
  .object({
    role: z.string(),
    grantedAt: z.iso.datetime().nullable().describe('null: the company has no database role'),
    sessions: z.int().describe('Connections that it has open now'),
    ...target,
  })
  .meta({ id: 'SqlAccess' })
const grantedSchema = z
  .object({
    role: z.string(),
    password: z.string().describe('Shown now and never again'),
    url: z.string().describe('The connection with the password'),
    created: z
      .boolean()
      .describe('false: the gateway may not create roles; an administrator of the server runs `statements`'),
    statements: z.array(z.string()),
    ...target,
  })
  .meta({ id: 'GrantedSqlAccess' })
const revokedSchema = z
  .object({
    role: z.string(),
    removed: z
      .boolean()
      .describe('false: it has no access any more, and stays, because it owns something or may not be dropped'),
  })
  .meta({ id: 'RevokedSqlAccess' })

const showSchema = {
  summary: 'Whether a company has a database role',
  ...adminDescription,
  params: companyParams,
  response: { 200: accessSchema, ...adminRefusals },
}
const grantSchema = {
  summary: 'Make its database role, or give the one that is there a new password; it is shown once',
  ...adminDescription,
  params: companyParams,
  body: onlyReason,
  response: { 201: grantedSchema, ...adminRefusals, ...adminBodyRefusals },
}
const revokeSchema = {
  summary: 'Remove its database role and end its sessions',
  ...adminDescription,
  params: companyParams,
  body: onlyReason,
  response: { 200: revokedSchema, ...adminRefusals, ...adminBodyRefusals },
}

export function adminCompanySqlRoutes(app: App, deps: AdminSqlDeps): void {
  const path = '/admin/companies/:companyId/sql-access'
  const { onRequest } = deps
  const changing = { onRequest, config: ADMINISTRATORS }
  app.get(path, { onRequest, schema: showSchema }, async request => {
    const { companyId } = await knownCompany(request, deps.db)
    return { ...(await readSqlAccess(deps.db.pool, companyId)), ...deps.database }
  })
  app.post(path, { ...changing, schema: grantSchema }, (request, reply) => grant(request, reply, deps))
  app.post(`${path}/revoke`, { ...changing, schema: revokeSchema }, request => revoke(request, deps))
}

async function grant(request: FastifyRequest, reply: FastifyReply, { db, database }: AdminSqlDeps) {
  const { companyId } = await knownCompany(request, db)
  const granted = await grantSqlAccess(db.pool, companyId, adminAuthor(request))
  if (granted.kind === 'unsafe') throw new Problem('SQL_ACCESS_UNSAFE', { detail: granted.message })
  const { role, password } = granted
  const { host, port, database: name } = database
  return reply.code(201).send({
    role,
    password,
    url: `postgres://${role}:${password}@${host.includes(':') ? `[${host}]` : host}:${port}/${encodeURIComponent(name)}`,
    created: granted.kind === 'granted',
    statements: granted.kind === 'statements' ? granted.statements : [],
    ...database,
  })
}

async function revoke(request: FastifyRequest, { db }: AdminSqlDeps) {
  const { companyId } = await knownCompany(request, db)
  const { role, found, dropped } = await withdrawSqlAccess(db.pool, companyId, adminAuthor(request))
  if (!found) throw new Problem('NOT_FOUND', { detail: 'The company has no database role.' })
  return { role, removed: dropped }
}
