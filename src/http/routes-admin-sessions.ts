import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ADMIN_ROLES } from '../contracts/admin-role.ts'
import { writeAudit } from '../db/audit.ts'
import { type EndedSessions, endSessions, listSessions } from '../db/companies/admin-sessions.ts'
import { inTransaction } from '../db/query.ts'
import { requireRole } from './admin-auth.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import type { SessionRouteDeps } from './routes-admin-session.ts'

const common = { tags: ['Admin session'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)

const nameSchema = z
  .string()
  .min(1)
  .max(64)
  .refine(text => !text.includes('\0'), 'must not contain NUL')
const listQuery = z.object({
  of: z.enum(['me', 'everybody']).default('me').describe('`everybody` needs the role administrator'),
})
const sessionSchema = z.object({
  sessionId: z.uuid(),
  name: z.string(),
  role: z.enum(ADMIN_ROLES),
  signedInAt: z.iso.datetime(),
  lastSeenAt: z.iso.datetime().describe('Written at most once a minute'),
  expiresAt: z.iso.datetime(),
  address: z.string(),
  userAgent: z.string(),
  current: z.boolean().describe('The session of this request'),
})
const listSchema = {
  summary: 'Open sessions, the last seen first',
  ...common,
  querystring: listQuery,
  response: { 200: z.object({ data: z.array(sessionSchema) }), ...refusals },
}
const endedSchema = z.object({ ended: z.int() })
const endOneSchema = {
  summary: 'End a session; one of another administrator needs the role administrator',
  ...common,
  params: z.object({ sessionId: z.string() }),
  response: { 200: endedSchema, ...refusals, ...problemAnswers(404) },
}
const endAllQuery = z.object({
  administrator: nameSchema.optional().describe('Your own when absent; another one needs the role administrator'),
})
const endAllSchema = {
  summary: 'End all sessions of an administrator',
  ...common,
  querystring: endAllQuery,
  response: { 200: endedSchema, ...refusals },
}

/** Everybody sees and ends their own sessions, administrators those of everybody. */
export function adminSessionListRoutes(app: App, deps: SessionRouteDeps): void {
  const { db, auth, onRequest } = deps
  const config = { role: 'viewer' } as const

  app.get('/admin/sessions', { onRequest, schema: listSchema }, async request => {
    const { of } = request.query as z.output<typeof listQuery>
    if (of === 'everybody') requireRole(request, 'administrator')
    const rows = await listSessions(db.pool, of === 'me' ? request.admin! : null, auth.sessions.limits.idleMinutes)
    return { data: rows.map(row => ({ ...row, current: row.sessionId === request.adminSession?.sessionId })) }
  })
  app.delete('/admin/sessions/:sessionId', { onRequest, config, schema: endOneSchema }, async request => {
    const owner = request.adminRole === 'administrator' ? null : request.admin!
    const ended = await end(request, deps, { sessionId: uuidParam(request, 'sessionId'), owner })
    if (ended === 0) throw new Problem('NOT_FOUND')
    return { ended }
  })
  app.delete('/admin/sessions', { onRequest, config, schema: endAllSchema }, async request => {
    const { administrator = request.admin! } = request.query as z.output<typeof endAllQuery>
    if (administrator !== request.admin) requireRole(request, 'administrator')
    return { ended: await end(request, deps, { sessionId: null, owner: administrator }) }
  })
}

async function end(request: FastifyRequest, { db, auth }: SessionRouteDeps, which: EndedSessions): Promise<number> {
  const ended = await inTransaction(db.pool, async tx => {
    const rows = await endSessions(tx, which)
    if (rows.length > 0)
      await writeAudit(tx, {
        performedBy: request.admin!,
        action: 'SESSIONS_ENDED',
        subjectType: 'administrator',
        subjectId: rows[0]!.name,
        after: { ended: rows.length },
      })
    return rows
  })
  for (const { sessionId } of ended) auth.sessions.forget(sessionId)
  return ended.length
}
