import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { ADMIN_ROLES } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { auditAdministrator } from './administrators.ts'
import { type AdminAuth, requireRole, unauthenticated } from './authorize.ts'
import {
  clearSessionCookie,
  type EndedSessions,
  endSessions,
  listedSessionSchema,
  listSessions,
  makeSessionToken,
  putSession,
  setSessionCookie,
  takeSignInLink,
} from './sessions.ts'

type SessionRouteDeps = AdminRouteDeps & { auth: AdminAuth; publicUrl: string | undefined }

const common = { tags: ['Admin session'], security: [{ administrator: [] }] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 422, 429, 503)
const NOTHING = z.null().describe('Done')

const signInBody = z
  .strictObject({ name: z.string().min(1).max(200), password: z.string().min(1).max(1_000) })
  .meta({ id: 'SignIn', example: { name: 'admin', password: 'correct horse battery' } })
const signInSchema = {
  summary: 'Sign in to the admin UI: the answer sets the cookie of a session',
  tags: common.tags,
  security: [],
  body: signInBody,
  response: { 204: NOTHING, ...refusals },
}
const linkBody = z
  .strictObject({ token: z.string().max(200) })
  .meta({ id: 'SignInByLink', example: { token: 'the part of the link after #token=' } })
const linkSchema = {
  summary: 'Sign in by the token of a link, which works once',
  tags: common.tags,
  security: [],
  body: linkBody,
  response: { 204: NOTHING, ...refusals },
}
const showSchema = {
  summary: 'Who is signed in',
  ...common,
  response: {
    200: z.object({
      name: z.string(),
      role: z.enum(ADMIN_ROLES),
      signedInAt: z.iso.datetime(),
      expiresAt: z.iso.datetime().describe('It ends earlier when it is not used'),
    }),
    ...problemAnswers(401, 429, 503),
  },
}
const signOutSchema = { summary: 'Sign out', ...common, response: { 204: NOTHING, ...refusals } }

/** Signing in and out of the admin UI. */
export function adminSessionRoutes(app: App, deps: SessionRouteDeps): void {
  const { db, onRequest, auth, publicUrl } = deps

  app.post('/admin/session', { onRequest, config: { public: true }, schema: signInSchema }, async (request, reply) => {
    const { name, password } = request.body as z.output<typeof signInBody>
    if (!(await auth.checkPassword(request, name, password))) throw unauthenticated(request)
    const start = sessionStart(request, auth, name, 'password')
    await inTransaction(db.pool, tx => start.write(tx))
    return sendSession(request, reply, deps, start.token)
  })

  app.post(
    '/admin/session/link',
    { onRequest, config: { public: true }, schema: linkSchema },
    async (request, reply) => {
      const { token } = request.body as z.output<typeof linkBody>
      const started = await inTransaction(db.pool, async tx => {
        const name = await takeSignInLink(tx, token)
        if (!name) return null
        const start = sessionStart(request, auth, name, 'link')
        await start.write(tx)
        return start
      })
      if (!started) throw new Problem('SIGN_IN_LINK_INVALID')
      return sendSession(request, reply, deps, started.token)
    },
  )

  app.get('/admin/session', { onRequest, schema: showSchema }, async request => {
    if (!request.adminSession) throw unauthenticated(request)
    const { name, role, signedInAt, expiresAt } = request.adminSession
    return { name, role, signedInAt, expiresAt }
  })

  app.delete(
    '/admin/session',
    { onRequest, config: { role: 'viewer' }, schema: signOutSchema },
    async (request, reply) => {
      const session = request.adminSession
      if (!session) throw unauthenticated(request)
      await inTransaction(db.pool, async tx => {
        const ended = await endSessions(tx, { sessionId: session.sessionId, owner: session.name })
        if (ended.length > 0)
          await auditAdministrator(tx, session.name, { performedBy: session.name, action: 'SIGNED_OUT', after: {} })
      })
      auth.sessions.forget(session.sessionId)
      return clearSessionCookie(reply, isSecure(request, publicUrl)).code(204).send()
    },
  )
}

/** A new session: its token for the cookie, and the statement that writes it and the audit. */
function sessionStart(request: FastifyRequest, auth: AdminAuth, name: string, by: 'password' | 'link') {
  const { id, token, secretHash } = makeSessionToken()
  const address = request.ip.slice(0, 64)
  const userAgent = maskSensitive((request.headers['user-agent'] ?? '').replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300))
  const { days } = auth.sessions.limits
  const write = async (tx: Queryable) => {
    await putSession(tx, { sessionId: id, secretHash, administrator: name, days, address, userAgent })
    await auditAdministrator(tx, name, { performedBy: name, action: 'SIGNED_IN', after: { by, address } })
  }
  return { token, write }
}

function sendSession(request: FastifyRequest, reply: FastifyReply, deps: SessionRouteDeps, token: string) {
  const { days } = deps.auth.sessions.limits
  return setSessionCookie(reply, token, days, isSecure(request, deps.publicUrl)).code(204).send()
}

const isSecure = (request: FastifyRequest, publicUrl: string | undefined) =>
  request.protocol === 'https' || publicUrl?.startsWith('https:') === true

const nameSchema = z
  .string()
  .min(1)
  .max(64)
  .refine(text => !text.includes('\0'), 'must not contain NUL')
const listQuery = z.object({
  of: z.enum(['me', 'everybody']).default('me').describe('`everybody` needs the role administrator'),
})
const listSchema = {
  summary: 'Open sessions, the last seen first',
  ...common,
  querystring: listQuery,
  response: { 200: z.object({ data: z.array(listedSessionSchema) }), ...refusals },
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
      await auditAdministrator(tx, rows[0]!.name, {
        performedBy: request.admin!,
        action: 'SESSIONS_ENDED',
        after: { ended: rows.length },
      })
    return rows
  })
  for (const { sessionId } of ended) auth.sessions.forget(sessionId)
  return ended.length
}
