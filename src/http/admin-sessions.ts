import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { parseSessionToken, sessionSecretMatches } from '../contracts/session-token.ts'
import { findSession, type SessionRow, touchSession } from '../db/companies/admin-sessions.ts'
import type { Queryable } from '../db/query.ts'
import { isPolled } from './request-telemetry.ts'

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
