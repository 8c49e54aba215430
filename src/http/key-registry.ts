import { LRUCache } from 'lru-cache'
import { findKeys, type KnownKey, touchKeys } from '../db/companies/api-keys.ts'
import type { Queryable } from '../db/query.ts'
import { Batcher } from '../runtime/batcher.ts'
import { periodically } from '../runtime/periodic-task.ts'

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
