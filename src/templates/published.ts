import { LRUCache } from 'lru-cache'
import { Batcher } from '../platform/batcher.ts'
import { type Queryable, sql } from '../platform/postgres/query.ts'
import { type ParseResult, parseTemplate, type TemplateSource } from './parse.ts'

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

export type TemplateChoice = { companyId: string; type: string /** null: the company's. */; locale: string | null }
export type PublishedVersion = { versionId: string; number: number; locale: string }

/**
 * The version in use for each choice, or null. A company's own templates of the type replace the starters. Of several locales the one
 * that was asked for comes first, then one of the same language, the company's, any.
 */
export async function findPublished(db: Queryable, choices: TemplateChoice[]): Promise<(PublishedVersion | null)[]> {
  const rows = await sql<PublishedVersion & { place: number }>(db, 'find-published-templates')`
    select wanted.place::int, found.* from unnest(${choices.map(one => one.companyId)}::uuid[], ${choices.map(one => one.type)}::text[], ${choices.map(one => one.locale)}::text[]) with ordinality as wanted(company, type, locale, place)
     cross join lateral (
       select v.version_id, v.number, t.locale
       from templates t join template_versions v on v.template_id = t.template_id and v.number = t.published_number
         left join companies c on c.company_id = wanted.company
       where (t.company_id = wanted.company or t.company_id is null) and t.type = wanted.type
       order by t.company_id is null, t.locale is not distinct from wanted.locale desc,
         split_part(t.locale, '-', 1) is not distinct from split_part(wanted.locale, '-', 1) desc, t.locale = c.locale desc, t.locale
       limit 1) found`
  const found: (PublishedVersion | null)[] = choices.map(() => null)
  for (const { place, ...version } of rows) found[place - 1] = version
  return found
}

/** null: it was deleted meanwhile. */
export async function readVersion(db: Queryable, versionId: string): Promise<TemplateSource | null> {
  const [row] = await sql<TemplateSource>(db, 'read-template-version')`
    select subject, html, text from template_versions where version_id = ${versionId}`
  return row ?? null
}
