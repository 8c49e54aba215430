import { findKeys, type KnownKey, touchKeys } from '../db/companies/api-keys.ts'
import type { Queryable } from '../db/pool.ts'
import { Batcher } from '../runtime/batcher.ts'
import { periodically } from '../runtime/periodic-task.ts'

/** A revoked key is refused within a second, in every process, without a message between them. */
const TRUST_MS = 800
/** A busy key is looked up anew before its time is over, so that no request waits for it. */
const REFRESH_MS = 400
const MAX_REMEMBERED = 10_000
const TOUCH_EVERY_MS = 30_000

type Entry = { key: KnownKey | null; fetchedAtMs: number; refreshing: boolean }

/** API keys with their companies, as the database had them less than a second ago. */
export class KeyRegistry {
  readonly #db: Queryable
  readonly #entries = new Map<string, Entry>()
  readonly #lookups: Batcher<string, KnownKey | null>
  readonly #used = new Set<string>()
  readonly #stopTouching: () => void

  constructor(db: Queryable, touchEveryMs = TOUCH_EVERY_MS) {
    this.#db = db
    this.#lookups = new Batcher({ flush: ids => this.#fetch(ids), maxItems: 500, concurrency: 2 })
    this.#stopTouching = periodically(touchEveryMs, () => this.flushUsed(), ignore)
  }

  /** At once for a key that was seen just now. */
  find(keyId: string): KnownKey | null | Promise<KnownKey | null> {
    const entry = this.#entries.get(keyId)
    const ageMs = entry ? performance.now() - entry.fetchedAtMs : Number.POSITIVE_INFINITY
    if (!entry || ageMs >= TRUST_MS) return this.#refresh(keyId).then(fresh => fresh.key)
    if (ageMs >= REFRESH_MS && !entry.refreshing) {
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
    // Aged from before the question: a revocation that happens meanwhile counts from its own time.
    const fetchedAtMs = performance.now()
    const entry = { key: await this.#lookups.add(keyId), fetchedAtMs, refreshing: false }
    this.#entries.delete(keyId)
    this.#entries.set(keyId, entry)
    if (this.#entries.size > MAX_REMEMBERED) this.#entries.delete(this.#entries.keys().next().value!)
    return entry
  }

  async #fetch(keyIds: string[]): Promise<(KnownKey | null)[]> {
    const rows = await findKeys(this.#db, [...new Set(keyIds)])
    const byId = new Map(rows.map(row => [row.keyId, row]))
    return keyIds.map(keyId => byId.get(keyId) ?? null)
  }
}

/** When a key was used last is worth no error. */
function ignore(): void {}
