import { type Context, defaultOperators, Liquid, type LiquidOptions } from 'liquidjs'
import { CountedFor } from './counted-for.ts'
import { TEMPLATE_LIMITS } from './limits.ts'

/** Nothing that reads files, keeps text for later (it would be escaped twice), or depends on the time or the machine. */
const TAGS: ReadonlySet<string> = new Set('if unless case for break continue assign comment raw #'.split(' '))
/** Filters whose time is bounded by the length of their input, which they count. `raw` is not among them: no value becomes markup. */
const FILTERS: ReadonlySet<string> = new Set([
  ...'default upcase downcase capitalize strip squish truncate append prepend url_encode join first last size'.split(
    ' ',
  ),
  ...'plus minus times divided_by modulo round ceil floor abs at_least at_most'.split(' '),
])

type FilterThis = { context: Context }

function countedText(this: FilterThis, value: unknown): string {
  if (typeof value === 'object' && value !== null) throw new Error('is a list or an object, not a text')
  const text = value === undefined || value === null ? '' : String(value)
  this.context.memoryLimit.use(text.length)
  return text
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' }

function escapedText(this: FilterThis, value: unknown): string {
  return countedText.call(this, value).replace(/[&<>"']/g, character => ESCAPES[character]!)
}

function contains(whole: unknown, part: unknown, context: Context): boolean {
  if (Array.isArray(whole)) {
    context.memoryLimit.use(whole.length)
    return whole.includes(part)
  }
  if (typeof whole !== 'string') return false
  const searched = String(part)
  if (searched.length > TEMPLATE_LIMITS.SEARCHED_CHARS)
    throw new Error(`contains searches for at most ${TEMPLATE_LIMITS.SEARCHED_CHARS} characters`)
  context.memoryLimit.use(whole.length)
  return whole.includes(searched)
}

function makeEngine(outputEscape: NonNullable<LiquidOptions['outputEscape']>, catchAllErrors: boolean): Liquid {
  const engine = new Liquid({
    outputEscape,
    ownPropertyOnly: true,
    strictFilters: true,
    strictVariables: true,
    // A variable is optional in `{% if name %}` and before `| default:`.
    lenientIf: true,
    catchAllErrors,
    // No files: there are no tags that load any, and no file that one could name.
    templates: {},
    relativeReference: false,
    operators: { ...defaultOperators, contains },
    parseLimit: TEMPLATE_LIMITS.CONTENT_BYTES,
    memoryLimit: TEMPLATE_LIMITS.WORK_CHARS,
  })
  for (const name of Object.keys(engine.filters)) if (!FILTERS.has(name)) engine.unregisterFilter(name)
  for (const name of Object.keys(engine.tags)) if (!TAGS.has(name)) delete engine.tags[name]
  engine.registerTag('for', CountedFor)
  return engine
}

/** Only values in HTML are escaped: the subject and the text part are plain text. */
function makeEngines(catchAllErrors: boolean) {
  const text = makeEngine(countedText, catchAllErrors)
  return { subject: text, html: makeEngine(escapedText, catchAllErrors), text }
}

/** allErrors: one answer names every missing variable. firstError: for a template with so many errors that naming them takes too long. */
export const ENGINES = { allErrors: makeEngines(true), firstError: makeEngines(false) }
