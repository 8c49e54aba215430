import { LRUCache } from 'lru-cache'
import { type ParseResult, parseTemplate } from '../contracts/templates/parse.ts'
import type { Queryable } from '../db/query.ts'
import { findPublished, type PublishedVersion, readVersion, type TemplateChoice } from '../db/templates/published.ts'
import { Batcher } from '../runtime/batcher.ts'

/** Parsed templates take about ten times the memory of their source. */
const MAX_CACHED_CHARS = 16 * 1024 * 1024
/** Concurrent look-ups share a query. */
const LOOKUP_BATCH = { maxItems: 200, concurrency: 2 }

/** It was parsed when it was written, but another version of the gateway may have other limits. */
export type PublishedTemplate = { version: number; parsed: ParseResult }

/** Which version is in use is asked each time, so that a new one counts at once. A version never changes, so it is parsed once. */
export class PublishedTemplates {
  readonly #db: Queryable
  readonly #lookups: Batcher<TemplateChoice, PublishedVersion | null>
  readonly #parsed = new LRUCache<string, ParseResult>({ maxSize: MAX_CACHED_CHARS })

  constructor(db: Queryable) {
    this.#db = db
    this.#lookups = new Batcher({ ...LOOKUP_BATCH, flush: choices => findPublished(db, choices) })
  }

  async find(choice: TemplateChoice): Promise<PublishedTemplate | null> {
    const found = await this.#lookups.add(choice)
    const parsed = found && (await this.#parse(found.versionId))
    return parsed && { version: found.number, parsed }
  }

  /** null: it was deleted meanwhile. */
  async #parse(versionId: string): Promise<ParseResult | null> {
    const known = this.#parsed.get(versionId)
    if (known) return known
    const source = await readVersion(this.#db, versionId)
    if (!source) return null
    const parsed = parseTemplate(source)
    const size = source.subject.length + (source.html?.length ?? 0) + (source.text?.length ?? 0)
    this.#parsed.set(versionId, parsed, { size })
    return parsed
  }
}
