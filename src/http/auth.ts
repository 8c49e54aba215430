import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { type Owner, parseApiKey, type Scope, secretMatches } from '../contracts/api-key.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'
import type { KeyRegistry } from './key-registry.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    key: KnownKey | null
  }
}

/** A hook for the first moment of a request: strangers cannot make us read a body. */
export function requireKey(registry: KeyRegistry, pepper: string, scope: Scope) {
  const matches = rememberingMatcher(pepper)
  return async function authenticate(request: FastifyRequest): Promise<void> {
    const parsed = parseApiKey(presentedKey(request))
    const found = parsed && registry.find(parsed.keyId)
    const known = found instanceof Promise ? await found : found
    if (!parsed || !known || known.mode !== parsed.mode || !matches(known, parsed.secret)) {
      throw unauthenticated('The API key is missing or unknown. Send it as X-API-Key or as Authorization: Bearer.')
    }
    if (known.revoked) throw unauthenticated('The API key has been revoked.')
    if (!known.scopes.includes(scope)) {
      throw new Problem('INSUFFICIENT_SCOPE', {
        detail: `This API key has the scopes ${known.scopes.join(', ')}; this needs ${scope}.`,
      })
    }
    registry.used(known.keyId)
    request.key = known
  }
}

/** Whose data the request may see and change. */
export function ownerOf({ key }: FastifyRequest): Owner {
  return { companyId: key!.companyId, test: key!.mode === 'test' }
}

/** The keyed hash is computed once per look-up of a key, not once per request. */
function rememberingMatcher(pepper: string) {
  const verified = new WeakMap<KnownKey, Buffer>()
  return function matches(known: KnownKey, secret: string): boolean {
    const given = Buffer.from(secret)
    const before = verified.get(known)
    if (before && timingSafeEqual(before, given)) return true
    if (!secretMatches(secret, known.secretHash, pepper)) return false
    verified.set(known, given)
    return true
  }
}

const unauthenticated = (detail: string) =>
  new Problem('UNAUTHENTICATED', { detail, headers: { 'www-authenticate': 'Bearer' } })

function presentedKey(request: FastifyRequest): string {
  const header = request.headers['x-api-key']
  if (typeof header === 'string') return header
  const authorization = request.headers.authorization ?? ''
  return /^Bearer /i.test(authorization) ? authorization.slice(7).trim() : ''
}
