import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Author } from '../audit/audit.ts'
import { Batcher } from '../platform/batcher.ts'
import { periodically } from '../platform/periodic-task.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import type { KeyPrincipal, Scope } from '../web/access.ts'
import { neededScopes } from '../web/access.ts'
import { Problem } from '../web/problem.ts'
import { findKeys, type KnownKey, type Owner, parseApiKey, secretMatches, touchKeys } from './keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    key: KnownKey | null
  }
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
        request.principal = principalOf(check.key)
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

function principalOf({ companyId, companyName, keyId, mode, scopes }: KnownKey): KeyPrincipal {
  return { kind: 'key', companyId, name: companyName, keyId, test: mode === 'test', scopes }
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

/** Below a second, so that every process refuses a revoked key within a second without messages between processes. */
const MAX_AGE_MS = 800
/** A key in use is refreshed in the background from this age on, so that no request waits for the database. */
const REFRESH_AGE_MS = 400
const MAX_CACHED_KEYS = 10_000
const TOUCH_EVERY_MS = 30_000

type Entry = { key: KnownKey | null; fetchedAtMs: number; refreshing: boolean }

/** Cache of API keys with their companies, never older than MAX_AGE_MS. */
export class KeyRegistry {
  readonly #db: Queryable
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_CACHED_KEYS })
  readonly #lookups: Batcher<string, KnownKey | null>
  readonly #used = new Set<string>()
  readonly #stopTouching: () => void

  constructor(db: Queryable, touchEveryMs = TOUCH_EVERY_MS) {
    this.#db = db
    this.#lookups = new Batcher({ flush: ids => this.#fetch(ids), maxItems: 500, concurrency: 2 })
    this.#stopTouching = periodically(touchEveryMs, () => this.flushUsed(), ignore)
  }

  /** Synchronous for a cached key: this is on the path of every request. */
  find(keyId: string): KnownKey | null | Promise<KnownKey | null> {
    const entry = this.#entries.get(keyId)
    const ageMs = entry ? performance.now() - entry.fetchedAtMs : Number.POSITIVE_INFINITY
    if (!entry || ageMs >= MAX_AGE_MS) return this.#refresh(keyId).then(fresh => fresh.key)
    if (ageMs >= REFRESH_AGE_MS && !entry.refreshing) {
      entry.refreshing = true
      this.#refresh(keyId).catch(() => {})
    }
    return entry.key
  }

  used(keyId: string): void {
    this.#used.add(keyId)
  }

  async flushUsed(): Promise<void> {
    if (this.#used.size === 0) return
    const keyIds = [...this.#used]
    this.#used.clear()
    await touchKeys(this.#db, keyIds).catch(ignore)
  }

  async close(): Promise<void> {
    this.#stopTouching()
    await this.flushUsed()
  }

  async #refresh(keyId: string): Promise<Entry> {
    // The age counts from before the query: the key may be revoked while the query runs.
    const fetchedAtMs = performance.now()
    const entry = { key: await this.#lookups.add(keyId), fetchedAtMs, refreshing: false }
    this.#entries.set(keyId, entry)
    return entry
  }

  async #fetch(keyIds: string[]): Promise<(KnownKey | null)[]> {
    const rows = await findKeys(this.#db, [...new Set(keyIds)])
    const byId = new Map(rows.map(row => [row.keyId, row]))
    return keyIds.map(keyId => byId.get(keyId) ?? null)
  }
}

/** The time of last use is informative only: losing one write of it is not worth an error. */
function ignore(): void {}

/** Finds API keys; synchronous for a cached one. */
type KeyFinder = {
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
