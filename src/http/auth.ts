import type { FastifyRequest } from 'fastify'
import { parseApiKey, type Scope, secretMatches } from '../contracts/api-key.ts'
import type { KnownKey } from '../db/api-keys.ts'
import type { KeyRegistry } from './key-registry.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    key: KnownKey | null
  }
}

/** A hook for the first moment of a request: strangers cannot make us read a body. */
export function requireKey(registry: KeyRegistry, pepper: string, scope: Scope) {
  return async function authenticate(request: FastifyRequest): Promise<void> {
    const parsed = parseApiKey(presentedKey(request))
    const known = parsed && (await registry.find(parsed.keyId))
    if (!parsed || !known || known.mode !== parsed.mode || !secretMatches(parsed.secret, known.secretHash, pepper)) {
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

const unauthenticated = (detail: string) =>
  new Problem('UNAUTHENTICATED', { detail, headers: { 'www-authenticate': 'Bearer' } })

function presentedKey(request: FastifyRequest): string {
  const header = request.headers['x-api-key']
  if (typeof header === 'string') return header
  const authorization = request.headers.authorization ?? ''
  return /^Bearer /i.test(authorization) ? authorization.slice(7).trim() : ''
}
