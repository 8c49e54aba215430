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

/** `onRequest` hook: an unauthenticated request is refused before its body is read. */
export function requireKey(registry: KeyRegistry, pepper: string, scope: Scope) {
  const matches = cachingMatcher(pepper)
  return async function authenticate(request: FastifyRequest): Promise<void> {
    const parsed = parseApiKey(presentedKey(request))
    const found = parsed && registry.find(parsed.keyId)
    const key = found instanceof Promise ? await found : found
    if (!parsed || !key || key.mode !== parsed.mode || !matches(key, parsed.secret)) {
      throw unauthenticated('The API key is missing or unknown. Send it as X-API-Key or as Authorization: Bearer.')
    }
    if (key.revoked) throw unauthenticated('The API key has been revoked.')
    if (!key.scopes.includes(scope)) {
      throw new Problem('INSUFFICIENT_SCOPE', {
        detail: `This API key has the scopes ${key.scopes.join(', ')}; this needs ${scope}.`,
      })
    }
    registry.used(key.keyId)
    request.key = key
  }
}

/** Whose data the request may see and change. */
export function ownerOf({ key }: FastifyRequest): Owner {
  return { companyId: key!.companyId, test: key!.mode === 'test' }
}

/** The HMAC is computed once per look-up of a key, not once per request. */
function cachingMatcher(pepper: string) {
  const verified = new WeakMap<KnownKey, Buffer>()
  return function matches(key: KnownKey, secret: string): boolean {
    const given = Buffer.from(secret)
    const cached = verified.get(key)
    if (cached && timingSafeEqual(cached, given)) return true
    if (!secretMatches(secret, key.secretHash, pepper)) return false
    verified.set(key, given)
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
