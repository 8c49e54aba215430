import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { maskSensitive } from '../contracts/masking.ts'
import { DUMMY_PASSWORD_HASH, passwordMatches } from '../contracts/password.ts'
import { findAdministrator } from '../db/companies/administrators.ts'
import type { Queryable } from '../db/query.ts'
import { FairSlots } from '../runtime/fair-semaphore.ts'
import { LoginLimits, networkOf, siteOf } from '../runtime/login-limits.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admin: string | null
  }
}

/**
 * Browsers repeat the password with every request. The slow hash is computed once; after that the administrator's row is read once a
 * minute, so that a removed administrator or a changed password takes effect within a minute.
 */
const RECHECK_MS = 60_000
const MAX_CACHED_LOGINS = 1_000
/**
 * One scrypt check takes about 60 ms of a core and one of Node's four pool threads, so concurrent checks are limited, fairly between
 * sites. Networks with an earlier successful login have a slot of their own: guesses from elsewhere cannot delay them.
 */
const CHECKS = { total: 2, perKey: 1, waitingPerKey: 3 }
const CHECKS_FROM_KNOWN = { total: 1, perKey: 1, waitingPerKey: 3 }
const MAX_WAIT_MS = 5_000

export type LoginRefusal = 'password' | 'throttled'
export type AdminAuthOptions = { publicUrl: string | undefined; onLoginRefused: (reason: LoginRefusal) => void }

/** `onRequest` hook of every admin route: HTTP Basic authentication, and CSRF protection for requests that change something. */
export function requireAdministrator(db: Queryable, { publicUrl, onLoginRefused }: AdminAuthOptions) {
  const authenticate = administratorCheck(db, onLoginRefused)
  return async function authorizeAdministrator(request: FastifyRequest): Promise<void> {
    await authenticate(request)
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseCrossSite(request, publicUrl)
  }
}

/**
 * CSRF: browsers add the Basic password to every request to this origin, whichever page makes it. A page of another site can send forms
 * and plain text, but application/json only after a CORS preflight, and its requests carry Sec-Fetch-Site and Origin.
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

type CachedLogin = { passwordHash: string; recheckAtMs: number }

function administratorCheck(db: Queryable, onRefused: AdminAuthOptions['onLoginRefused']) {
  const processKey = randomBytes(32)
  const cached = new LRUCache<string, CachedLogin>({ max: MAX_CACHED_LOGINS })
  const limits = new LoginLimits()
  const checks = { known: new FairSlots(CHECKS_FROM_KNOWN), others: new FairSlots(CHECKS) }

  return async function authenticateAdministrator(request: FastifyRequest): Promise<void> {
    const { name, password } = basicCredentials(request)
    const credentials = createHmac('sha256', processKey).update(`${name}\0${password}`).digest('base64')
    if (!(await isCached(name, credentials))) {
      const passwordHash = await checkPassword(request, name, password)
      cached.set(credentials, { passwordHash, recheckAtMs: performance.now() + RECHECK_MS })
    }
    request.admin = name
  }

  /** Credentials that were right stay valid for as long as the administrator's row holds the same hash. */
  async function isCached(name: string, credentials: string): Promise<boolean> {
    const login = cached.get(credentials)
    if (!login) return false
    if (performance.now() < login.recheckAtMs) return true
    const row = await findAdministrator(db, name)
    if (row?.passwordHash !== login.passwordHash) {
      cached.delete(credentials)
      return false
    }
    login.recheckAtMs = performance.now() + RECHECK_MS
    return true
  }

  async function checkPassword(request: FastifyRequest, name: string, password: string): Promise<string> {
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
        return row.passwordHash
      }
      limits.failed(name, network, performance.now())
      onRefused('password')
      request.log.warn({ administrator: loggable(name), address: request.ip }, 'Failed login of an administrator')
      throw unauthenticated()
    } finally {
      release()
    }
  }

  function refuseThrottled(name: string, network: string): void {
    const waitMs = limits.waitMs(name, network, performance.now())
    if (waitMs > 0) throw throttled(Math.ceil(waitMs / 1000))
  }

  function throttled(seconds: number): Problem {
    onRefused('throttled')
    return new Problem('TOO_MANY_LOGINS', { headers: { 'retry-after': String(seconds) } })
  }
}

/** The client chooses the name: it is logged shortened, printable, and without document numbers or addresses. */
const loggable = (name: string) => maskSensitive(name.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 64))

const unauthenticated = () =>
  new Problem('ADMIN_UNAUTHENTICATED', {
    headers: { 'www-authenticate': 'Basic realm="Email Gateway", charset="UTF-8"' },
  })

function basicCredentials(request: FastifyRequest): { name: string; password: string } {
  const match = /^Basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(request.headers.authorization ?? '')
  const [name, ...rest] = Buffer.from(match?.[1] ?? '', 'base64')
    .toString('utf8')
    .split(':')
  if (!match || !name || name.includes('\0')) throw unauthenticated()
  return { name, password: rest.join(':') }
}
