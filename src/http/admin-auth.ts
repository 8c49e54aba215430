import { createHmac, randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { NOBODYS_PASSWORD, passwordMatches } from '../contracts/password.ts'
import { findAdministrator } from '../db/administrators.ts'
import type { Queryable } from '../db/pool.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    admin: string | null
  }
}

/** A browser repeats its password with every request; the slow hash is paid once a minute. A removal counts within it. */
const REMEMBER_MS = 60_000
/** Each check costs about 60 ms of a core: guessing must not take the machine. */
const MAX_CHECKS_AT_ONCE = 4

/** The first moment of every admin route: who it is, and, for what changes something, that nobody else's page sent it. */
export function requireAdministrator(db: Queryable, publicUrl?: string) {
  const authenticate = administratorCheck(db)
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

function administratorCheck(db: Queryable) {
  const processKey = randomBytes(32)
  const remembered = new Map<string, number>()
  let checks = 0

  return async function authenticateAdministrator(request: FastifyRequest): Promise<void> {
    const { name, password } = basicCredentials(request)
    const ticket = createHmac('sha256', processKey).update(`${name}\0${password}`).digest('base64')
    if ((remembered.get(ticket) ?? 0) <= performance.now()) {
      remembered.delete(ticket)
      if (checks >= MAX_CHECKS_AT_ONCE) throw new Problem('TOO_MANY_LOGINS', { headers: { 'retry-after': '1' } })
      checks++
      try {
        const known = await findAdministrator(db, name)
        const right = await passwordMatches(password, known?.passwordHash ?? NOBODYS_PASSWORD)
        if (!known || !right) throw unauthenticated()
      } finally {
        checks--
      }
      remembered.set(ticket, performance.now() + REMEMBER_MS)
    }
    request.admin = name
  }
}

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
