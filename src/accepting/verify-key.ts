import { timingSafeEqual } from 'node:crypto'
import { parseApiKey, type Scope, secretMatches } from '../contracts/api-key.ts'
import type { KnownKey } from '../db/companies/api-keys.ts'

/** Finds API keys; synchronous for a cached one. */
export type KeyFinder = {
  find(keyId: string): KnownKey | null | Promise<KnownKey | null>
  used(keyId: string): void
}

export type KeyCheck =
  | { kind: 'valid'; key: KnownKey }
  | { kind: 'unknown' }
  | { kind: 'revoked' }
  | { kind: 'missing-scope'; scopes: readonly string[] }

/** Whether a presented text is a valid API key with this scope. */
export function keyVerifier(keys: KeyFinder, pepper: string, scope: Scope): (presented: string) => Promise<KeyCheck> {
  const matches = cachingMatcher(pepper)
  return async function verifyKey(presented) {
    const parsed = parseApiKey(presented)
    const found = parsed && keys.find(parsed.keyId)
    const key = found instanceof Promise ? await found : found
    if (!parsed || !key || key.mode !== parsed.mode || !matches(key, parsed.secret)) return { kind: 'unknown' }
    if (key.revoked) return { kind: 'revoked' }
    if (!key.scopes.includes(scope)) return { kind: 'missing-scope', scopes: key.scopes }
    keys.used(key.keyId)
    return { kind: 'valid', key }
  }
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
