import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { type AdminRole, neededRole, roleSuffices } from '../contracts/admin-role.ts'
import type { SessionRow } from '../db/companies/admin-sessions.ts'
import { type AdministratorLogin, findAdministrator } from '../db/companies/administrators.ts'
import type { Queryable } from '../db/query.ts'
import { type LoginCheck, type LoginOptions, passwordLogin } from './admin-login.ts'
import { AdminSessions, type SessionLimits, sessionCookie } from './admin-sessions.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the administrator. */
    admin: string | null
    adminRole: AdminRole | null
    /** Null with HTTP Basic. */
    adminSession: SessionRow | null
  }
  interface FastifyContextConfig {
    /** The role that an admin route needs. Not given: any for GET, support for changes. */
    role?: AdminRole
    /**
     * It answers a file or a preview. A browser gets that and not the page of the UI, and viewers do not get it, since it cannot
     * be masked.
     */
    clear?: boolean
    /** The routes that sign in: without a login, but not from other sites. */
    public?: boolean
  }
}

/**
 * Scripts repeat the password with every request. The slow hash is computed once; after that the administrator's row is read every few
 * seconds, so that a removed administrator, a changed password or another role takes effect soon.
 */
const RECHECK_MS = 5_000
const MAX_CACHED_LOGINS = 1_000

export type AdminAuthOptions = LoginOptions & { publicUrl: string | undefined; adminSessions: SessionLimits }

export type AdminAuth = {
  /** `onRequest` hook of every admin route: who it is, CSRF protection, and whether their role suffices. */
  authorize: (request: FastifyRequest) => Promise<void>
  checkPassword: LoginCheck
  sessions: AdminSessions
}

export function adminAuth(db: Queryable, options: AdminAuthOptions): AdminAuth {
  const checkPassword = passwordLogin(db, options)
  const sessions = new AdminSessions(db, options.adminSessions)
  const authenticateBasic = basicCheck(db, checkPassword)

  async function authorize(request: FastifyRequest): Promise<void> {
    const { config } = request.routeOptions
    if (!config.public) await authenticate(request)
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseCrossSite(request, options.publicUrl)
    if (!config.public) requireRole(request, neededRole(request.method, config))
  }

  async function authenticate(request: FastifyRequest): Promise<void> {
    const session = await sessions.ofRequest(request)
    const { name, role } = session ?? (await authenticateBasic(request))
    request.admin = name
    request.adminRole = role
    request.adminSession = session
  }

  return { authorize, checkPassword, sessions }
}

export function requireRole({ adminRole }: FastifyRequest, needed: AdminRole): void {
  if (adminRole && roleSuffices(adminRole, needed)) return
  throw new Problem('INSUFFICIENT_ROLE', { detail: `This needs the role ${needed}; yours is ${adminRole}.` })
}

/**
 * CSRF: browsers add the Basic password to every request to this origin, whichever page makes it. A page of another site can send forms
 * and plain text, but application/json only after a CORS preflight, and its requests carry Sec-Fetch-Site and Origin. The session's
 * cookie is not sent from other sites at all.
 */
function refuseCrossSite(request: FastifyRequest, publicUrl: string | undefined): void {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE')
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Problem('CROSS_SITE_REQUEST')
  const { origin } = request.headers
  if (origin !== undefined && !isOwnOrigin(origin, request.host, publicUrl)) throw new Problem('CROSS_SITE_REQUEST')
}

function isOwnOrigin(origin: string, host: string, publicUrl: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.host === host || (publicUrl !== undefined && url.origin === new URL(publicUrl).origin)
}

type CachedLogin = AdministratorLogin & { recheckAtMs: number }

/** HTTP Basic, for scripts. */
function basicCheck(db: Queryable, checkPassword: LoginCheck) {
  const processKey = randomBytes(32)
  const cached = new LRUCache<string, CachedLogin>({ max: MAX_CACHED_LOGINS })

  async function authenticate(request: FastifyRequest): Promise<{ name: string; role: AdminRole }> {
    const { name, password } = basicCredentials(request)
    const before = await known(name, password)
    if (before) return { name, role: before.role }
    const login = await checkPassword(request, name, password)
    if (!login) throw unauthenticated(request)
    cached.set(cacheKey(name, password), { ...login, recheckAtMs: performance.now() + RECHECK_MS })
    return { name, role: login.role }
  }

  /** Credentials that were right stay valid for as long as the administrator's row holds the same hash. */
  async function known(name: string, password: string): Promise<CachedLogin | null> {
    const credentials = cacheKey(name, password)
    const login = cached.get(credentials)
    if (!login || performance.now() < login.recheckAtMs) return login ?? null
    const row = await findAdministrator(db, name)
    if (row?.passwordHash !== login.passwordHash) {
      cached.delete(credentials)
      return null
    }
    login.role = row.role
    login.recheckAtMs = performance.now() + RECHECK_MS
    return login
  }

  const cacheKey = (name: string, password: string) =>
    createHmac('sha256', processKey).update(`${name}\0${password}`).digest('base64')

  return authenticate
}

/** Without `www-authenticate` for the admin UI, which has a form of its own: browsers would open a dialog over it. */
export function unauthenticated(request: FastifyRequest): Problem {
  const fromUi = request.headers['x-requested-with'] === 'email-gateway-admin' || sessionCookie(request) !== null
  if (fromUi) return new Problem('ADMIN_UNAUTHENTICATED')
  const headers = { 'www-authenticate': 'Basic realm="Email Gateway", charset="UTF-8"' }
  return new Problem('ADMIN_UNAUTHENTICATED', { headers })
}

function basicCredentials(request: FastifyRequest): { name: string; password: string } {
  const match = /^Basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(request.headers.authorization ?? '')
  const [name, ...rest] = Buffer.from(match?.[1] ?? '', 'base64')
    .toString('utf8')
    .split(':')
  if (!match || !name || name.includes('\0')) throw unauthenticated(request)
  return { name, password: rest.join(':') }
}
