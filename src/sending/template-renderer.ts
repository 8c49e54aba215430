import { LRUCache } from 'lru-cache'
import type { FieldProblem } from '../contracts/refusal.ts'
import { type ParsedTemplate, parseTemplate } from '../contracts/templates/parse.ts'
import { type RenderedTemplate, renderTemplate } from '../contracts/templates/render.ts'
import type { TemplateVariables } from '../contracts/templates/variables.ts'
import type { Queryable } from '../db/query.ts'
import { findPublished, type PublishedVersion, readVersion, type TemplateChoice } from '../db/templates/published.ts'
import { Batcher } from '../runtime/batcher.ts'

/** Parsed templates take about ten times the memory of their source. */
const MAX_CACHED_CHARS = 16 * 1024 * 1024
/** Concurrent look-ups share a query. */
const LOOKUP_BATCH = { maxItems: 200, concurrency: 2 }

type Parsed = { template: ParsedTemplate } | { problems: FieldProblem[] }

export type Rendering =
  | ({ kind: 'rendered'; version: number } & RenderedTemplate)
  | { kind: 'refused'; problems: FieldProblem[] }
  | { kind: 'not-found' }

/** Renders published templates. Which version is in use is asked each time, so that a new one counts at once; a version never changes. */
export class TemplateRenderer {
  readonly #db: Queryable
  readonly #lookups: Batcher<TemplateChoice, PublishedVersion | null>
  readonly #parsed = new LRUCache<string, Parsed>({ maxSize: MAX_CACHED_CHARS })

  constructor(db: Queryable) {
    this.#db = db
    this.#lookups = new Batcher({ ...LOOKUP_BATCH, flush: choices => findPublished(db, choices) })
  }

  async render(choice: TemplateChoice, variables: TemplateVariables): Promise<Rendering> {
    const version = await this.#lookups.add(choice)
    const parsed = version && (await this.#parse(version.versionId))
    if (!parsed) return { kind: 'not-found' }
    if ('problems' in parsed) return { kind: 'refused', problems: parsed.problems }
    const { ok, ...result } = renderTemplate(parsed.template, variables)
    return 'problems' in result
      ? { kind: 'refused', problems: result.problems }
      : { kind: 'rendered', version: version.number, ...result }
  }

  async #parse(versionId: string): Promise<Parsed | null> {
    const known = this.#parsed.get(versionId)
    if (known) return known
    const source = await readVersion(this.#db, versionId)
    if (!source) return null
    const result = parseTemplate(source)
    // It was parsed when it was written; another version of the gateway may have other limits.
    const parsed = result.ok ? { template: result.template } : { problems: result.problems }
    const size = source.subject.length + (source.html?.length ?? 0) + (source.text?.length ?? 0)
    this.#parsed.set(versionId, parsed, { size })
    return parsed
  }
}
