import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import { z } from 'zod'
import { inTransaction, iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { ADMIN_ROLES, type AdminRole } from '../web/access.ts'
import { isPolled } from '../web/request-telemetry.ts'
import { auditAdministrator } from './administrators.ts'

/** More sessions of one administrator end the oldest ones. */
const MAX_SESSIONS = 50

/** Also deletes sessions that have ended: they are made nowhere else. */
export async function putSession(
  tx: Queryable,
  session: {
    sessionId: string
    secretHash: Buffer
    administrator: string
    days: number
    address: string
    userAgent: string
  },
): Promise<void> {
  await sql(tx, 'put-admin-session')`
    with ended as (
       delete from admin_sessions where expires_at < now() or session_id in (
         select session_id from admin_sessions where administrator = ${session.administrator} order by signed_in_at desc offset ${MAX_SESSIONS - 1})
     )
     insert into admin_sessions (session_id, secret_hash, administrator, expires_at, address, user_agent)
     values (${session.sessionId}, ${session.secretHash}, ${session.administrator}, now() + make_interval(days => ${session.days}), ${session.address}, ${session.userAgent})`
}

export type SessionRow = {
  sessionId: string
  secretHash: Buffer
  name: string
  role: AdminRole
  signedInAt: string
  expiresAt: string
  /** The time of the last request is more than a minute old. */
  unseen: boolean
}

/** `null`: there is no such session, or it has expired. */
async function findSession(db: Queryable, sessionId: string, idleMinutes: number): Promise<SessionRow | null> {
  const [row] = await sql<SessionRow>(db, 'find-admin-session')`
    select s.session_id, s.secret_hash, a.name, a.role,
       ${iso('s.signed_in_at')} as "signedInAt", ${iso('s.expires_at')} as "expiresAt",
       s.last_seen_at < now() - interval '1 minute' as unseen
     from admin_sessions s join administrators a on a.name = s.administrator
     where s.session_id = ${sessionId} and s.expires_at > now() and s.last_seen_at > now() - make_interval(mins => ${idleMinutes})`
  return row ?? null
}

async function touchSession(db: Queryable, sessionId: string): Promise<void> {
  await sql(db, 'touch-admin-session')`
    update admin_sessions set last_seen_at = now()
     where session_id = ${sessionId} and last_seen_at < now() - interval '1 minute'`
}

export const listedSessionSchema = z.object({
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
type ListedSession = Omit<z.output<typeof listedSessionSchema>, 'current'>

/** Last seen first. `administrator` null: of everybody. */
export async function listSessions(
  db: Queryable,
  administrator: string | null,
  idleMinutes: number,
): Promise<ListedSession[]> {
  return sql<ListedSession>(db, 'list-admin-sessions')`
    select s.session_id, a.name, a.role, ${iso('s.signed_in_at')} as "signedInAt",
       ${iso('s.last_seen_at')} as "lastSeenAt", ${iso('s.expires_at')} as "expiresAt", s.address, s.user_agent
     from admin_sessions s join administrators a on a.name = s.administrator
     where (${administrator}::text is null or s.administrator = ${administrator}::text)
       and s.expires_at > now() and s.last_seen_at > now() - make_interval(mins => ${idleMinutes})
     order by s.last_seen_at desc, s.session_id limit 500`
}

/** Which sessions end: one, or all of an administrator. `owner` null: whoever's it is. */
export type EndedSessions = { sessionId: string | null; owner: string | null }

export async function endSessions(tx: Queryable, { sessionId, owner }: EndedSessions): Promise<EndedSession[]> {
  return sql<EndedSession>(tx, 'end-admin-sessions')`
    delete from admin_sessions
     where (${sessionId}::uuid is null or session_id = ${sessionId}::uuid) and (${owner}::text is null or administrator = ${owner}::text)
       and (${sessionId}::uuid is not null or ${owner}::text is not null)
     returning session_id, administrator as name`
}

type EndedSession = { sessionId: string; name: string }

const PATTERN = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/

type SessionToken = { id: string; secret: string }

/** Of a session or of a sign-in link, as `<id>.<secret>`: the id finds the row, the secret is compared. */
export function makeSessionToken(): SessionToken & { token: string; secretHash: Buffer } {
  const id = randomUUID()
  const secret = randomBytes(32).toString('base64url')
  return { id, secret, token: `${id}.${secret}`, secretHash: hashOf(secret) }
}

export function parseSessionToken(text: string): SessionToken | null {
  const match = PATTERN.exec(text)
  return match && { id: match[1]!, secret: match[2]! }
}

export function sessionSecretMatches(secret: string, secretHash: Buffer): boolean {
  return timingSafeEqual(hashOf(secret), secretHash)
}

/** A fast hash is enough for 256 random bits. */
const hashOf = (secret: string) => createHash('sha256').update(secret).digest()

/** Long enough to find the link in a file, short enough that an old one is of no use. */
const LINK_MINUTES = 60

/** The token of a link that signs this administrator in once. `null`: there is no such administrator. */
export async function makeSignInLink(pool: pg.Pool, name: string, performedBy: string): Promise<string | null> {
  const { id, token, secretHash } = makeSessionToken()
  return inTransaction(pool, async tx => {
    const made = await sql(tx, 'put-sign-in-link')`
      with expired as (delete from admin_sign_in_links where expires_at < now())
       insert into admin_sign_in_links (link_id, secret_hash, administrator, expires_at)
       select ${id}, ${secretHash}, name, now() + make_interval(mins => ${LINK_MINUTES}) from administrators where name = ${name} returning link_id`
    if (made.length === 0) return null
    await auditAdministrator(tx, name, { performedBy, action: 'SIGN_IN_LINK_MADE' })
    return token
  })
}

/** Whom it signs in; the link is used up. `null`: it was used, has expired, or never was one. */
export async function takeSignInLink(tx: Queryable, token: string): Promise<string | null> {
  const parsed = parseSessionToken(token)
  if (!parsed) return null
  const [link] = await sql<{ secretHash: Buffer; administrator: string }>(tx, 'lock-sign-in-link')`
    select secret_hash, administrator from admin_sign_in_links
     where link_id = ${parsed.id} and expires_at > now() for update`
  if (!link || !sessionSecretMatches(parsed.secret, link.secretHash)) return null
  await sql(tx, 'use-sign-in-link')`delete from admin_sign_in_links where link_id = ${parsed.id}`
  return link.administrator
}

/** The token follows the #, which browsers send to no server; the page exchanges it, so that a preview of the link does not. */
export const signInUrl = (gatewayUrl: string, token: string) =>
  `${gatewayUrl.replace(/\/$/, '')}/admin/sign-in#token=${token}`

export type SessionLimits = { idleMinutes: number; days: number }

const COOKIE = 'email_gateway_session'
/** A session that another process has ended is refused within this time. */
const KEEP_MS = 1_000
const MAX_CACHED = 1_000

/** Sessions are rows that every API process reads, a moment late at most. */
export class AdminSessions {
  readonly limits: SessionLimits
  readonly #db: Queryable
  readonly #cached: LRUCache<string, SessionRow>

  constructor(db: Queryable, limits: SessionLimits) {
    this.limits = limits
    this.#db = db
    this.#cached = new LRUCache({ max: MAX_CACHED, ttl: KEEP_MS })
  }

  /**
   * The session of the request's cookie. Counts as a sign of life, so that a session in use does not become idle; a page that is only
   * open and polls does not use it.
   */
  async ofRequest(request: FastifyRequest): Promise<SessionRow | null> {
    const session = await this.#find(sessionCookie(request))
    if (session?.unseen && !isPolled(request)) {
      session.unseen = false
      await touchSession(this.#db, session.sessionId)
    }
    return session
  }

  async #find(cookie: string | null): Promise<SessionRow | null> {
    const token = parseSessionToken(cookie ?? '')
    if (!token) return null
    const session = this.#cached.get(token.id) ?? (await findSession(this.#db, token.id, this.limits.idleMinutes))
    if (!session || !sessionSecretMatches(token.secret, session.secretHash)) return null
    if (!this.#cached.has(token.id)) this.#cached.set(token.id, session)
    return session
  }

  /** Ended by this process: refused at once. */
  forget(sessionId: string): void {
    this.#cached.delete(sessionId)
  }
}

export function sessionCookie({ headers }: FastifyRequest): string | null {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === COOKIE) return value ?? ''
  }
  return null
}

export function setSessionCookie(reply: FastifyReply, token: string, days: number, secure: boolean): FastifyReply {
  return reply.header('set-cookie', cookieOf(token, days * 86_400, secure))
}

export function clearSessionCookie(reply: FastifyReply, secure: boolean): FastifyReply {
  return reply.header('set-cookie', cookieOf('', 0, secure))
}

const cookieOf = (value: string, seconds: number, secure: boolean) =>
  `${COOKIE}=${value}; Path=/admin; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
