import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { maskSensitive } from '../contracts/masking.ts'
import { DUMMY_PASSWORD_HASH, passwordMatches } from '../contracts/password.ts'
import { findAdministrator } from '../db/companies/administrators.ts'
import type { Queryable } from '../db/pool.ts'
import { FairSlots } from '../runtime/fair-semaphore.ts'
import { LoginLimits, networkOf, siteOf } from './login-limits.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admin: string | null
  }
}

/** A browser repeats its password with every request; the slow hash is paid once, and the row is looked at once a minute. A removal counts within it. */
const LOOK_AGAIN_MS = 60_000
const MAX_REMEMBERED = 1_000
/**
 * Each check costs about 60 ms of a core and one of the four threads that Node has for such work: guessing must not take the machine.
 * Sites take turns. Networks that somebody has logged in from have a slot of their own, so that no number of others keeps them waiting.
 */
const CHECKS = { total: 2, perKey: 1, waitingPerKey: 3 }
const CHECKS_FROM_KNOWN = { total: 1, perKey: 1, waitingPerKey: 3 }
const PATIENCE_MS = 5_000

export type LoginRefusal = 'password' | 'throttled'
export type AdminAuthOptions = { publicUrl: string | undefined; onLoginRefused: (reason: LoginRefusal) => void }

/** The first moment of every admin route: who it is, and, for what changes something, that nobody else's page sent it. */
export function requireAdministrator(db: Queryable, { publicUrl, onLoginRefused }: AdminAuthOptions) {
  const authenticate = administratorCheck(db, onLoginRefused)
  return async function admitAdministrator(request: FastifyRequest): Promise<void> {
    await authenticate(request)
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseForgery(request, publicUrl)
  }
}

/**
 * A browser adds the password to every request for this address, whichever page makes it. A page of another site can send
 * forms and plain text, never application/json without asking first; and a browser says where a request comes from.
 */
function refuseForgery(request: FastifyRequest, publicUrl: string | undefined): void {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE')
  const site = request.headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Problem('CROSS_SITE_REQUEST')
  const { origin } = request.headers
  if (origin !== undefined && !isOwnOrigin(origin, request.host, publicUrl)) throw new Problem('CROSS_SITE_REQUEST')
}

function isOwnOrigin(origin: string, host: string, publicUrl: string | undefined): boolean {
  if (!URL.canParse(origin)) return false
  const asked = new URL(origin)
  return asked.host === host || (publicUrl !== undefined && asked.origin === new URL(publicUrl).origin)
}

type Remembered = { passwordHash: string; lookAtMs: number }

function administratorCheck(db: Queryable, onRefused: AdminAuthOptions['onLoginRefused']) {
  const processKey = randomBytes(32)
  const remembered = new Map<string, Remembered>()
  const limits = new LoginLimits()
  const checks = { known: new FairSlots(CHECKS_FROM_KNOWN), others: new FairSlots(CHECKS) }

  return async function authenticateAdministrator(request: FastifyRequest): Promise<void> {
    const { name, password } = basicCredentials(request)
    const verified = createHmac('sha256', processKey).update(`${name}\0${password}`).digest('base64')
    if (!(await isRemembered(name, verified))) {
      const passwordHash = await checkPassword(request, name, password)
      remembered.set(verified, { passwordHash, lookAtMs: performance.now() + LOOK_AGAIN_MS })
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!)
    }
    request.admin = name
  }

  /** The same name and password were right before, and are as long as the row holds the same hash. */
  async function isRemembered(name: string, verified: string): Promise<boolean> {
    const known = remembered.get(verified)
    if (!known) return false
    if (performance.now() < known.lookAtMs) return true
    const row = await findAdministrator(db, name)
    if (row?.passwordHash !== known.passwordHash) {
      remembered.delete(verified)
      return false
    }
    known.lookAtMs = performance.now() + LOOK_AGAIN_MS
    return true
  }

  async function checkPassword(request: FastifyRequest, name: string, password: string): Promise<string> {
    const network = networkOf(request.ip)
    refuseEarly(name, network)
    const release = limits.knows(network)
      ? await checks.known.acquire(network, 1, PATIENCE_MS)
      : await checks.others.acquire(siteOf(network), 1, PATIENCE_MS)
    if (!release) throw throttled(1)
    try {
      // Others of this network may have failed while this one waited.
      refuseEarly(name, network)
      const known = await findAdministrator(db, name)
      const right = await passwordMatches(password, known?.passwordHash ?? DUMMY_PASSWORD_HASH)
      if (known && right) {
        limits.succeeded(name, network)
        return known.passwordHash
      }
      limits.failed(name, network, performance.now())
      onRefused('password')
      request.log.warn({ administrator: shown(name), address: request.ip }, 'Failed login of an administrator')
      throw unauthenticated()
    } finally {
      release()
    }
  }

  function refuseEarly(name: string, network: string): void {
    const waitMs = limits.waitMs(name, network, performance.now())
    if (waitMs > 0) throw throttled(Math.ceil(waitMs / 1000))
  }

  function throttled(seconds: number): Problem {
    onRefused('throttled')
    return new Problem('TOO_MANY_LOGINS', { headers: { 'retry-after': String(seconds) } })
  }
}

/** Chosen by whoever asks: short, printable, and without what looks like a document or an address. */
const shown = (name: string) => maskSensitive(name.replaceAll(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?').slice(0, 64))

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
