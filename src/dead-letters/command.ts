import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
import { requireCompany } from '../companies/command.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type FailureCode,
  type Input,
  limitOf,
  notFound,
  type Opened,
  type OptionSpec,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { nearest } from '../console/nearest.ts'
import { asJson, counting, progressOn, writeTo, writeToFile } from '../console/output.ts'
import { counted, entries, type Moment, momentOf, rangeOf } from '../console/words.ts'
import {
  checkByIds,
  countDeadLetters,
  DEAD_STATUSES,
  type DeadLetter,
  type DeadLetterCursor,
  type DeadLetterFilter,
  type DeadLetterPage,
  type DeadStatus,
  everyDeadLetter,
  findDeadLetter,
  firstDeadLetters,
  listDeadLetterCodes,
  listDeadLetters,
  type NamedReplay,
  OUTCOME_UNKNOWN,
  readClock,
  replayByIds,
} from '../outbox/dead-letters.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction } from '../platform/postgres/query.ts'
import { bareAddress } from '../platform/text/addresses.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { maskEmail } from '../platform/text/masking.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { ERROR_CODES, vocabularyOf } from '../providers/errors/codes.ts'
import { purgeMatching, replayMatching, replayNamed } from './jobs.ts'

const FILTERS = ['company', 'code', 'status', 'since', 'until'] as const

const FILTER_OPTIONS: Record<(typeof FILTERS)[number], OptionSpec> = {
  company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
  code: { type: 'string', value: 'CODE', help: "with this error code, the gateway's or the provider's" },
  status: { type: 'string', value: DEAD_STATUSES.join('|'), help: 'whose e-mail has this status' },
  since: { type: 'string', value: 'TIME|2h|7d', help: 'dead since that time, or not longer than that' },
  until: { type: 'string', value: 'TIME|2h|7d', help: 'dead before that time, or for longer than that' },
}

/** `prepare` checks the arguments; the function that it returns opens the database. */
type Action = {
  options: readonly string[]
  prepare: (values: Input['values'], ids: string[]) => () => Promise<Answer | null>
}

const SELECTION_OPTIONS = [...FILTERS, 'limit', 'all']
const LIMIT_MAX = 100_000_000

function requireSelection(values: Input['values'], what: string): void {
  if (values.all !== true && !isFiltered(values)) throw new UsageError(`give ${what}, a filter, or --all`)
}

const PERFORMED_BY = 'command line'

const replay: Action = {
  options: [...SELECTION_OPTIONS, 'dry-run'],
  prepare(values, ids) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    const dryRun = values['dry-run'] === true
    if (ids.length > 0) {
      if (SELECTION_OPTIONS.some(name => values[name] !== undefined))
        throw new UsageError('give ids or a filter, not both')
      return writing(opened => replayIds(opened, ids, dryRun))
    }
    requireSelection(values, 'the ids to replay')
    return writing(opened => (dryRun ? dryRunFilter(opened, given, limit) : replayFilter(opened, given, limit)))
  },
}

async function replayIds({ db }: Opened, ids: string[], dryRun: boolean): Promise<Answer> {
  if (!dryRun) {
    return namedAnswer(await replayNamed(db.short, ids, PERFORMED_BY, replayAudited), 'Replayed')
  }
  const checked = await checkByIds(db.pool, [...new Set(ids.map(id => id.toLowerCase()))])
  const { json, ...answer } = namedAnswer(checked, 'Would replay')
  return { json: { dryRun: true, ...(json as ReplaySummary) }, ...answer }
}

/** A command that is killed in the middle has replayed nothing without its entry in the audit log. */
function replayAudited(pool: pg.Pool, outboxIds: string[], by: string): Promise<NamedReplay[]> {
  return inTransaction(pool, async tx => {
    const outcomes = await replayByIds(tx, outboxIds, by)
    for (const { outboxId: subjectId, outcome } of outcomes) {
      const entry = { action: 'DEAD_LETTERS_REPLAYED', subjectType: 'email', subjectId } as const
      if (outcome === 'replayed') await writeAudit(tx, { ...entry, performedBy: operator() })
    }
    return outcomes
  })
}

async function replayFilter({ db }: Opened, given: GivenFilter, limit: number | undefined): Promise<Answer> {
  const progress = progressOn(process.stderr)
  const filter = await filterOf(db, given)
  const { payloadPurged, outcomeUnknown } = await countDeadLetters(db.pool, filter)
  const options = { by: PERFORMED_BY, limit, onProgress: progress.show }
  const { replayed } = await replayMatching(db.short, filter, options).finally(progress.end)
  const summary: ReplaySummary = { replayed, skipped: { payloadPurged, outcomeUnknown, notFound: 0 } }
  return { json: summary, lines: [summaryLine('Replayed', summary)] }
}

async function dryRunFilter({ db }: Opened, given: GivenFilter, limit = LIMIT_MAX): Promise<Answer> {
  const filter = await filterOf(db, given)
  const { replayable, payloadPurged, outcomeUnknown } = await countDeadLetters(db.pool, filter)
  const first = await firstDeadLetters(db.pool, filter, { use: 'replay', limit: Math.min(DRY_RUN_ENTRIES, limit) })
  const replayed = Math.min(replayable, limit)
  const summary = { replayed, skipped: { payloadPurged, outcomeUnknown, notFound: 0 } }
  return {
    json: { dryRun: true, ...summary, first },
    lines: [summaryLine('Would replay', summary), ...dryRunLines(first, replayed)],
  }
}

type ReplaySummary = {
  replayed: number
  /** outcomeUnknown: may have been sent, and was not asked for by its code. */
  skipped: { payloadPurged: number; outcomeUnknown: number; notFound: number }
}

/** Exit code 1 when some were not replayed; when none was, the command fails without an answer. */
function namedAnswer(outcomes: NamedReplay[], verb: string): Answer {
  const count = (outcome: NamedReplay['outcome']) => outcomes.filter(one => one.outcome === outcome).length
  const failed = outcomes.filter(one => one.outcome !== 'replayed').map(failureSentence)
  if (failed.length === outcomes.length) throw new CommandFailed(failed.join('\n'), codeOfNone(outcomes))
  const skipped = { payloadPurged: count('payload-purged'), outcomeUnknown: 0, notFound: count('not-found') }
  const summary: ReplaySummary = { replayed: count('replayed'), skipped }
  return { json: summary, lines: [summaryLine(verb, summary), ...failed], ...(failed.length > 0 && { exitCode: 1 }) }
}

/** When no entry was replayed, and all for the same reason, the failure has its code. */
function codeOfNone(outcomes: NamedReplay[]): FailureCode {
  const all = (outcome: NamedReplay['outcome']) => outcomes.every(one => one.outcome === outcome)
  if (all('payload-purged')) return 'CONTENT_GONE'
  return all('not-found') ? 'NOT_FOUND' : 'FAILED'
}

function failureSentence({ outboxId, outcome, status }: NamedReplay): string {
  if (status === null) return `There is no e-mail ${outboxId}.`
  if (outcome === 'payload-purged') return `${outboxId} cannot be replayed: its payload was purged.`
  return `${outboxId} is not in the dead letter queue: the e-mail is ${status}.`
}

function summaryLine(verb: string, { replayed, skipped }: ReplaySummary): string {
  const { payloadPurged, outcomeUnknown, notFound } = skipped
  const reasons = [
    ...(payloadPurged > 0 ? [`${payloadPurged} payload purged`] : []),
    ...(outcomeUnknown > 0
      ? [`${outcomeUnknown} that may have been sent already (--code ${OUTCOME_UNKNOWN} replays them)`]
      : []),
    ...(notFound > 0 ? [`${notFound} not found`] : []),
  ]
  return `${verb} ${entries(replayed)}${reasons.length > 0 ? `, skipped: ${reasons.join(', ')}` : ''}`
}

const purge: Action = {
  options: [...SELECTION_OPTIONS, 'yes', 'dry-run'],
  prepare(values) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    requireSelection(values, 'the entries to purge')
    return writing(async ({ db }) => {
      const filter = await filterOf(db, given)
      const bounded = { ...filter, until: filter.until ?? (await readClock(db.pool)) }
      const count = Math.min((await countDeadLetters(db.pool, bounded)).all, limit ?? LIMIT_MAX)
      if (values['dry-run'] === true) {
        const first = await firstDeadLetters(db.pool, bounded, {
          use: 'purge',
          limit: Math.min(DRY_RUN_ENTRIES, count),
        })
        const json = { dryRun: true, purged: count, first }
        return { json, lines: [`Would purge ${entries(count)}`, ...dryRunLines(first, count)] }
      }
      if (values.yes !== true)
        throw new UsageError(
          `${entries(count)} would be purged for good; add --yes to do it, or --dry-run to list them`,
        )
      const progress = progressOn(process.stderr)
      const options = { by: PERFORMED_BY, limit, onProgress: progress.show }
      const { purged } = await purgeMatching(db.pool, bounded, options).finally(progress.end)
      return { json: { purged }, lines: [`Purged ${entries(purged)}`] }
    })
  },
}

/** Returns the number of entries written. */
async function exportToFile(file: string, entries: AsyncIterable<DeadLetter>): Promise<number> {
  let exported = 0
  const counted = counting(entries, count => {
    exported = count
  })
  await writeToFile(file, asJson(counted, 'lines'))
  return exported
}

export const dlqCommand: Command = {
  usage: [
    ['dlq list [FILTER] [--limit N] [--after CURSOR]', 'newest first'],
    ['dlq show ID', 'one dead letter with its history'],
    ['dlq replay ID… [--dry-run]', 'queue these e-mails again, with all attempts and another 24 hours'],
    ['dlq replay FILTER | --all [--limit N] [--dry-run]', 'the same for all that match'],
    ['dlq export [FILTER] [--limit N] [--out FILE]', 'JSON Lines (with --json and without --out: one array)'],
    [
      'dlq purge FILTER | --all --yes | --dry-run [--limit N]',
      'delete the entries permanently; the e-mails stay and cannot be replayed',
    ],
  ],
  words: { list: 0, show: 1, replay: Number.POSITIVE_INFINITY, export: 0, purge: 0 },
  options: {
    ...FILTER_OPTIONS,
    all: { type: 'boolean', help: 'replay and purge: all entries, without a filter' },
    limit: { type: 'string', value: 'N', help: 'the maximum number of entries; list: the page size (50)' },
    after: { type: 'string', value: 'CURSOR', help: 'list: the next page' },
    out: { type: 'string', value: 'FILE', help: 'export: write to this file, readable by its owner only' },
    yes: { type: 'boolean', help: 'purge: confirm' },
    'dry-run': { type: 'boolean', help: 'replay and purge: change nothing; print the number and the first entries' },
  },
  notes: [
    `FILTER is one or more of ${FILTERS.map(name => `--${name}`).join(', ')}. E-mails that may have been sent already are replayed only by ID or with --code ${OUTCOME_UNKNOWN}.`,
  ],
  run({ words: [action, ...ids], values }) {
    const act = actionOf<Action>(ACTIONS, action, 'dlq')
    refuseOptions(values, act.options)
    const wrong = ids.find(id => !isUuid(id))
    if (wrong !== undefined) throw new UsageError(`ID must be the outboxId of an e-mail, a UUID; "${wrong}" is not one`)
    return act.prepare(values, ids)()
  },
}

/** An ignored filter would replay or purge more than intended. */
function refuseOptions(values: Input['values'], allowed: readonly string[]): void {
  const unused = Object.keys(values).find(name => name !== 'json' && !allowed.includes(name))
  if (unused) throw new UsageError(`--${unused} cannot be used here`)
}

const PAGE_MAX = 1_000

const list: Action = {
  options: [...FILTERS, 'limit', 'after'],
  prepare(values) {
    const given = readFilter(values)
    const page = { after: cursorOf(text(values, 'after')), limit: limitOf(values, PAGE_MAX) ?? 50 }
    return reading(async ({ db }) => {
      const { entries, nextCursor } = await listDeadLetters(db.pool, await filterOf(db, given), page)
      const json = { data: entries, cursor: nextCursor && cursorText(nextCursor) }
      return { json, lines: pageLines({ entries, nextCursor }, isFiltered(values)) }
    })
  },
}

const show: Action = {
  options: [],
  prepare(_values, [given]) {
    const outboxId = required(given, 'ID')
    return reading(async ({ db }) => {
      const entry = await findDeadLetter(db.pool, outboxId)
      if (!entry) throw notFound(`There is no dead letter ${outboxId}.`)
      return { json: entry, lines: entryLines(entry) }
    })
  },
}

const exportAction: Action = {
  options: [...SELECTION_OPTIONS, 'out'],
  prepare(values) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    const file = text(values, 'out')
    return reading(async ({ db }) => {
      const filter = await filterOf(db, given)
      const found = everyDeadLetter(db.pool, { ...filter, until: filter.until ?? (await readClock(db.pool)) }, limit)
      if (file === undefined) {
        await writeTo(process.stdout, asJson(found, values.json === true ? 'array' : 'lines'))
        return null
      }
      const exported = await exportToFile(file, found)
      return { json: { exported, file }, lines: [`Exported ${entries(exported)} to ${file}`] }
    })
  },
}

const ACTIONS = { list, show, replay, export: exportAction, purge }

/** The filter as given, checked before the database is opened. */
type GivenFilter = {
  company: string | undefined
  code: string | null
  status: DeadStatus | null
  since: Moment | null
  until: Moment | null
}

function readFilter(values: Input['values']): GivenFilter {
  return {
    company: text(values, 'company'),
    code: codeOf(text(values, 'code')),
    status: statusOf(text(values, 'status')),
    since: momentOf(text(values, 'since'), '--since'),
    until: momentOf(text(values, 'until'), '--until'),
  }
}

/** The gateway's own codes are accepted in lower case as well. */
function codeOf(given: string | undefined): string | null {
  if (given === undefined) return null
  return vocabularyOf(given.toUpperCase()) === 'own' ? given.toUpperCase() : given
}

/** Relative times such as 2h use the database's clock, like the times that they are compared with. */
async function filterOf(db: Database, given: GivenFilter): Promise<DeadLetterFilter> {
  const { code, status, since, until } = given
  const companyId = given.company === undefined ? null : (await requireCompany(db, given.company)).companyId
  if (code !== null) await requireKnownCode(db, code)
  const nowMs = Date.parse(await readClock(db.pool))
  return { companyId, code, status, ...rangeOf(since, until, nowMs) }
}

/** A misspelt code would match nothing and look like an empty dead letter queue. */
async function requireKnownCode(db: Database, code: string): Promise<void> {
  if (vocabularyOf(code) !== null) return
  const found = await listDeadLetterCodes(db.pool)
  const codes = found.flatMap(one => [one.code, one.providerCode]).filter(one => one !== null)
  if (codes.includes(code)) return
  const near = nearest(code, [...new Set([...codes, ...ERROR_CODES])], 3)
  const hint = near.length > 0 ? `; did you mean ${near.join(', ')}?` : '.'
  const present = [...new Set(found.flatMap(one => one.code ?? []))].slice(0, CODES_SHOWN)
  const list = present.length > 0 ? ` The dead letters have: ${present.join(', ')}.` : ''
  throw new CommandFailed(`There is no error code "${code}"${hint}${list}`, 'UNKNOWN_ERROR_CODE')
}

const CODES_SHOWN = 10

function isFiltered(values: Input['values']): boolean {
  return FILTERS.some(name => values[name] !== undefined)
}

const cursorText = ({ movedAt, outboxId }: DeadLetterCursor) => `${movedAt}_${outboxId}`

function cursorOf(given: string | undefined): DeadLetterCursor | null {
  if (given === undefined) return null
  const [movedAt = '', outboxId = ''] = given.split('_')
  if (!rangeEndSchema.safeParse(movedAt).success || !isUuid(outboxId))
    throw new UsageError('--after must be the cursor at the end of the previous page')
  return { movedAt, outboxId }
}

function statusOf(given: string | undefined): DeadStatus | null {
  if (given === undefined) return null
  const status = DEAD_STATUSES.find(one => one === given.toUpperCase())
  if (!status) throw new UsageError(`--status must be ${DEAD_STATUSES.join(', ')}`)
  return status
}

const REASON_MAX = 100

/** One line per entry; the last line is the cursor of the next page. */
function pageLines({ entries, nextCursor }: DeadLetterPage, filtered: boolean): string[] {
  if (entries.length === 0) return [filtered ? 'No dead letters match this filter.' : 'No dead letters.']
  return [...entries.map(inList), ...(nextCursor ? [`--after ${cursorText(nextCursor)}`] : [])]
}

/** Number of entries that a dry run lists. */
const DRY_RUN_ENTRIES = 10

/** The first entries of a dry run, in the order in which they would be processed. */
function dryRunLines(first: DeadLetter[], all: number): string[] {
  return [...first.map(inList), ...(all > first.length ? [`… and ${all - first.length} more`] : [])]
}

function inList(entry: DeadLetter): string {
  const reason = printable(entry.lastFailureReason)
  return [
    entry.movedToDLQAt,
    entry.outboxId,
    printable(entry.companyName),
    entry.status ?? 'GONE',
    codesOf(entry),
    counted(entry.failedAttempts, 'attempt'),
    reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason,
  ].join('  ')
}

/** With masked addresses, because others may see the screen; `--json` prints the whole entry. */
function entryLines(entry: DeadLetter): string[] {
  const { originalData, retryHistory = [] } = entry
  return [
    `${entry.status ?? 'GONE'}  ${entry.outboxId}  company ${printable(entry.companyName)} (${entry.companyId})`,
    `Enqueued ${entry.enqueuedAt}, moved ${entry.movedToDLQAt}, attempts ${entry.failedAttempts}`,
    `Failed ${entry.lastFailureTimestamp}  ${codesOf(entry)}  ${printable(entry.lastFailureReason)}`,
    ...retryHistory.map(
      one => `  attempt ${one.attempt}  ${one.timestamp}  ${printable(one.error)}${bracketed(one.providerCode)}`,
    ),
    ...dataLines(originalData),
    replayLine(entry),
  ]
}

/** `SES_MESSAGE_REJECTED (MessageRejected)`: the gateway's code and the provider's. */
const codesOf = ({ lastFailureCode, providerCode }: DeadLetter) =>
  `${printable(lastFailureCode ?? '-')}${bracketed(providerCode)}`

const bracketed = (word: string | null | undefined) => (word ? ` (${printable(word)})` : '')

const ADDRESSES = ['from', 'to', 'cc', 'bcc']

const FIELDS = [...ADDRESSES, 'subject', 'templateType', 'tags', 'priority', 'requestId', 'externalId']

function dataLines(data: DeadLetter['originalData']): string[] {
  return FIELDS.flatMap(name => {
    const words = [data[name] ?? []].flat().map(String)
    const shown = ADDRESSES.includes(name) ? words.map(word => maskEmail(bareAddress(word))) : words
    return shown.length > 0 ? [`${name}: ${printable(shown.join(', '))}`] : []
  })
}

function replayLine({ outboxId, replayable, payloadPurged, status }: DeadLetter): string {
  if (replayable) return `Replay it with: email-gateway dlq replay ${outboxId}`
  if (payloadPurged) return 'It cannot be replayed: its payload was purged.'
  if (status === 'REJECTED' || status === 'FAILED' || status === 'DLQ')
    return 'It cannot be replayed: its content is gone.'
  return `It cannot be replayed: ${status ? `the e-mail is ${status} by now.` : 'the e-mail is gone.'}`
}

/** Error texts come from providers and may contain terminal escape sequences. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}
