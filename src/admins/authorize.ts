import { createHmac, randomBytes } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Queryable } from '../platform/postgres/query.ts'
import { FairSlots } from '../platform/semaphores.ts'
import { maskAnswer, maskSensitive } from '../platform/text/masking.ts'
import { type AdminRole, neededRole, roleSuffices } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import {
  type AdministratorLogin,
  auditAdministrator,
  DUMMY_PASSWORD_HASH,
  findAdministrator,
  passwordMatches,
} from './administrators.ts'
import { AdminSessions, type SessionLimits, type SessionRow, sessionCookie } from './sessions.ts'

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
    request.principal = { kind: 'administrator', name, role }
    request.admin = name
    request.adminRole = role
    request.adminSession = session
  }

  return { authorize, checkPassword, sessions }
}

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

/**
 * One scrypt check takes about 60 ms of a core and one of Node's four pool threads, so concurrent checks are limited, fairly between
 * sites. Networks with an earlier successful login have a slot of their own: guesses from elsewhere cannot delay them.
 */
const CHECKS = { total: 2, perKey: 1, waitingPerKey: 3 }
const CHECKS_FROM_KNOWN = { total: 1, perKey: 1, waitingPerKey: 3 }
const MAX_WAIT_MS = 5_000
const AUDIT_INTERVAL_MS = 60_000

type LoginRefusal = 'password' | 'throttled'
type LoginOptions = { onLoginRefused: (reason: LoginRefusal) => void }
/** `null`: wrong name or password. Too many failures before: a Problem. */
type LoginCheck = (request: FastifyRequest, name: string, password: string) => Promise<AdministratorLogin | null>

/** Checks passwords, for HTTP Basic and for the sign-in form alike: limited by name and network, logged and counted. */
function passwordLogin(db: Queryable, { onLoginRefused }: LoginOptions): LoginCheck {
  const limits = new LoginLimits()
  let nextAuditMs = 0
  const checks = { known: new FairSlots(CHECKS_FROM_KNOWN), others: new FairSlots(CHECKS) }

  return async function checkPassword(request, name, password) {
    const network = networkOf(request.ip)
    refuseThrottled(name, network)
    const release = limits.hasSucceeded(network)
      ? await checks.known.acquire(network, 1, MAX_WAIT_MS)
      : await checks.others.acquire(siteOf(network), 1, MAX_WAIT_MS)
    if (!release) throw throttled(1)
    try {
      // Other logins from this network may have failed during the wait.
      refuseThrottled(name, network)
      const row = await findAdministrator(db, name)
      const matches = await passwordMatches(password, row?.passwordHash ?? DUMMY_PASSWORD_HASH)
      if (row && matches) {
        limits.succeeded(name, network)
        return row
      }
      const waits = limits.failed(name, network, performance.now())
      onLoginRefused('password')
      request.log.warn({ administrator: loggableName(name), address: request.ip }, 'Failed login of an administrator')
      if (waits) await auditRefused(name, network)
      return null
    } finally {
      release()
    }
  }

  /** An attacker with many networks must not fill the log: the first one of each minute is written. */
  async function auditRefused(name: string, network: string): Promise<void> {
    if (performance.now() < nextAuditMs) return
    nextAuditMs = performance.now() + AUDIT_INTERVAL_MS
    const entry = { performedBy: `network ${network}`, action: 'SIGN_IN_REFUSED', after: { network } } as const
    await auditAdministrator(db, loggableName(name), entry)
  }

  function refuseThrottled(name: string, network: string): void {
    const waitMs = limits.waitMs(name, network, performance.now())
    if (waitMs > 0) throw throttled(Math.ceil(waitMs / 1000))
  }

  function throttled(seconds: number): Problem {
    onLoginRefused('throttled')
    return new Problem('TOO_MANY_LOGINS', { headers: { 'retry-after': String(seconds) } })
  }
}

/** The client chooses the name: it is logged shortened, printable, and without document numbers or addresses. */
const loggableName = (name: string) => maskSensitive(name.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 64))

/** Failures before the first wait; each one after them doubles the wait. */
const FREE_FAILURES = { byNameAndNetwork: 5, byNetwork: 20, bySite: 100 }
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** The count starts again after this time without a failure. */
const RESET_MS = 15 * 60_000
const MAX_ENTRIES = 10_000

type Failures = { count: number; lastMs: number; waitUntilMs: number }

/**
 * Failed logins by name and network, by network, and by site. Not by name alone: anybody who knows an administrator's name could lock
 * that administrator out. Kept in the memory of each process.
 */
export class LoginLimits {
  readonly #byNameAndNetwork = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #byNetwork = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #bySite = new LRUCache<string, Failures>({ max: MAX_ENTRIES })
  readonly #succeeded = new LRUCache<string, true>({ max: MAX_ENTRIES })

  /** 0: the login may be tried now. */
  waitMs(name: string, network: string, nowMs: number): number {
    const found = [this.#byNameAndNetwork.get(pair(name, network)), this.#byNetwork.get(network)]
    // A site may have many customers: failures of the others do not count for a network with a successful login.
    if (!this.hasSucceeded(network)) found.push(this.#bySite.get(siteOf(network)))
    return Math.max(0, ...found.map(one => (one ? one.waitUntilMs - nowMs : 0)))
  }

  /** true: with this failure the name has to wait here for the first time. */
  failed(name: string, network: string, nowMs: number): boolean {
    const failures = count(this.#byNameAndNetwork, pair(name, network), FREE_FAILURES.byNameAndNetwork, nowMs)
    count(this.#byNetwork, network, FREE_FAILURES.byNetwork, nowMs)
    count(this.#bySite, siteOf(network), FREE_FAILURES.bySite, nowMs)
    return failures === FREE_FAILURES.byNameAndNetwork + 1
  }

  /** The network keeps its count of failures: others there may be guessing passwords. */
  succeeded(name: string, network: string): void {
    this.#byNameAndNetwork.delete(pair(name, network))
    this.#succeeded.set(network, true)
  }

  hasSucceeded(network: string): boolean {
    return this.#succeeded.has(network)
  }
}

const pair = (name: string, network: string) => `${network} ${name.slice(0, 64)}`

function count(all: LRUCache<string, Failures>, key: string, free: number, nowMs: number): number {
  const before = all.get(key)
  const failures = (before && nowMs - before.lastMs < RESET_MS ? before.count : 0) + 1
  const doublings = Math.min(failures - free, 30)
  const waitMs = doublings > 0 ? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (doublings - 1)) : 0
  all.set(key, { count: failures, lastMs: nowMs, waitUntilMs: nowMs + waitMs })
  return failures
}

/** The smallest range that one client controls: an IPv4 address, or the IPv6 /64 that an internet provider gives to one customer. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  if (isIPv4(address) || !isIPv6(address)) return address
  const [head = '', tail] = address.split('%')[0]!.toLowerCase().split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail ? tail.split(':') : []
  // An IPv4 address at the end takes the place of two groups.
  const groups = front.length + back.length + (/\./.test(address) ? 1 : 0)
  const whole = tail === undefined ? front : [...front, ...Array(Math.max(0, 8 - groups)).fill('0'), ...back]
  return `${whole
    .slice(0, 4)
    .map(group => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}

/** The /48 that IPv6 customers get on request, which holds 65 536 networks. An IPv4 address is its own site. */
export function siteOf(network: string): string {
  return network.replace(/:[^:]*::\/64$/, '::/48')
}
