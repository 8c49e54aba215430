import {
  type Context,
  defaultOperators,
  type Emitter,
  evalToken,
  ForTag,
  Liquid,
  type LiquidOptions,
  type Operators,
  type Parser,
  type TagToken,
  type TopLevelToken,
} from 'liquidjs'
import { TEMPLATE_LIMITS } from './limits.ts'

/** A loop counts its body once for each round, before it begins. So nested loops end after a bounded number of steps. */
class CountedFor extends ForTag {
  readonly #roundWork: number

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid, parser: Parser) {
    const before = remaining.length
    super(token, remaining, liquid, parser)
    const chars = (remaining[0]?.begin ?? token.input.length) - token.begin
    this.#roundWork = chars + TEMPLATE_LIMITS.TAG_WORK * (before - remaining.length)
  }

  override *render(context: Context, emitter: Emitter): ReturnType<ForTag['render']> {
    const collection: unknown = yield evalToken(this.collection as Parameters<typeof evalToken>[0], context)
    context.memoryLimit.use(roundsOf(collection) * this.#roundWork)
    return yield* super.render(context, emitter)
  }
}

function roundsOf(collection: unknown): number {
  if (Array.isArray(collection)) return collection.length
  return typeof collection === 'object' && collection !== null ? Object.keys(collection).length : 1
}

/** Nothing that reads files, keeps text for later (it would be escaped twice), or depends on the time or the machine. */
const TAGS: ReadonlySet<string> = new Set('if unless for break continue assign comment raw #'.split(' '))
/** Filters whose time is bounded by the length of their input, which they count. `raw` is not among them: no value becomes markup. */
const FILTERS: ReadonlySet<string> = new Set(
  'default upcase downcase capitalize strip truncate append prepend url_encode join first last size'.split(' '),
)

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

/** LiquidJS does not count what its own one makes, which becomes longer each time. */
function encodedText(this: FilterThis, value: unknown): string {
  return encodeURIComponent(countedText.call(this, value).toWellFormed())
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
  context.memoryLimit.use(4 * whole.length)
  return whole.includes(searched)
}

type Compare = (left: unknown, right: unknown, context: Context) => unknown

/** Comparing long texts takes time. Lists may hold lists, so they are not compared at all; `list == empty` compares no two lists. */
function counted(compare: Compare): Compare {
  return (left, right, context) => {
    if (Array.isArray(left) && Array.isArray(right)) throw new Error('two lists cannot be compared')
    if (typeof left === 'string' && typeof right === 'string')
      context.memoryLimit.use(Math.min(left.length, right.length))
    return compare(left, right, context)
  }
}

const COMPARISONS = Object.fromEntries(
  ['==', '!=', '<', '<=', '>', '>='].map(name => [name, counted(defaultOperators[name] as Compare)]),
)

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
    operators: { ...defaultOperators, ...COMPARISONS, contains } as Operators,
    parseLimit: TEMPLATE_LIMITS.CONTENT_BYTES,
    memoryLimit: TEMPLATE_LIMITS.WORK_CHARS,
  })
  for (const name of Object.keys(engine.filters)) if (!FILTERS.has(name)) engine.unregisterFilter(name)
  for (const name of Object.keys(engine.tags)) if (!TAGS.has(name)) delete engine.tags[name]
  engine.registerTag('for', CountedFor)
  engine.registerFilter('url_encode', encodedText)
  return engine
}

/** Only values in HTML are escaped: the subject and the text part are plain text. */
function makeEngines(catchAllErrors: boolean) {
  const text = makeEngine(countedText, catchAllErrors)
  return { subject: text, html: makeEngine(escapedText, catchAllErrors), text }
}

/** allErrors: to name every missing variable. firstError: for everything else. */
export const ENGINES = { allErrors: makeEngines(true), firstError: makeEngines(false) }
