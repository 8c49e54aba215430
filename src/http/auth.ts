import type { FastifyRequest } from 'fastify'
import { keyVerifier } from '../accepting/verify-key.ts'
import type { Owner, Scope } from '../contracts/api-key.ts'
import type { Author } from '../db/audited-change.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'
import type { KeyRegistry } from './key-registry.ts'
import { Problem } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    key: KnownKey | null
  }
}

/** For the OpenAPI document. */
const neededScopes = new WeakMap<object, Scope>()

/** The scope that a route's `onRequest` hooks ask for, if one of them asks for a key. */
export function scopeOf(hooks: unknown): Scope | undefined {
  return [hooks].flat().flatMap(hook => (hook ? (neededScopes.get(hook) ?? []) : []))[0]
}

/** `onRequest` hook: an unauthenticated request is refused before its body is read. */
export function requireKey(registry: KeyRegistry, pepper: string, scope: Scope) {
  const verify = keyVerifier(registry, pepper, scope)
  neededScopes.set(authenticate, scope)
  return authenticate

  async function authenticate(request: FastifyRequest): Promise<void> {
    const check = await verify(presentedKey(request))
    switch (check.kind) {
      case 'valid':
        request.key = check.key
        return
      case 'unknown':
        throw unauthenticated('The API key is missing or unknown. Send it as X-API-Key or as Authorization: Bearer.')
      case 'revoked':
        throw unauthenticated('The API key has been revoked.')
      case 'missing-scope':
        throw new Problem('INSUFFICIENT_SCOPE', {
          detail: `This API key has the scopes ${check.scopes.join(', ')}; this needs ${scope}.`,
        })
    }
  }
}

/** Whose data the request may see and change. */
export function ownerOf({ key }: FastifyRequest): Owner {
  return { companyId: key!.companyId, test: key!.mode === 'test' }
}

/** For the audit log. */
export function authorOf({ key }: FastifyRequest): Author {
  return { performedBy: `key ${key!.keyId}` }
}

const unauthenticated = (detail: string) =>
  new Problem('UNAUTHENTICATED', { detail, headers: { 'www-authenticate': 'Bearer' } })

function presentedKey(request: FastifyRequest): string {
  const header = request.headers['x-api-key']
  if (typeof header === 'string') return header
  const authorization = request.headers.authorization ?? ''
  return /^Bearer /i.test(authorization) ? authorization.slice(7).trim() : ''
}
