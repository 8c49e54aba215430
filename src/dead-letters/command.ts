import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
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
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { asJson, counting, progressOn, writeTo, writeToFile } from '../console/output.ts'
import { entries } from '../console/words.ts'
import {
  countDeadLetters,
  type DeadLetter,
  findDeadLetter,
  listDeadLetters,
  OUTCOME_UNKNOWN,
  readClock,
} from '../outbox/dead-letters.ts'
import { type NamedReplay, replayByIds } from '../outbox/dead-letters-replay.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import { isUuid } from '../platform/text/uuid.ts'
import {
  cursorOf,
  cursorText,
  DRY_RUN_ENTRIES,
  dryRunLines,
  entryLines,
  FILTER_OPTIONS,
  FILTERS,
  filterOf,
  type GivenFilter,
  isFiltered,
  pageLines,
  readFilter,
} from './command-filter.ts'
import { everyDeadLetter } from './export.ts'
import { checkByIds, firstDeadLetters } from './groups.ts'
import { purgeMatching, replayMatching, replayNamed } from './jobs.ts'

/** `prepare` checks the arguments; the function that it returns opens the database. */
export type Action = {
  options: readonly string[]
  prepare: (values: Input['values'], ids: string[]) => () => Promise<Answer | null>
}

export const SELECTION_OPTIONS = [...FILTERS, 'limit', 'all']
export const LIMIT_MAX = 100_000_000

export function requireSelection(values: Input['values'], what: string): void {
  if (values.all !== true && !isFiltered(values)) throw new UsageError(`give ${what}, a filter, or --all`)
}

const PERFORMED_BY = 'command line'

export const replay: Action = {
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
    const replayed = outcomes.filter(one => one.outcome === 'replayed').map(one => one.outboxId)
    await auditDeadLetters(tx, 'REPLAYED', { ids: replayed })
    return outcomes
  })
}

async function replayFilter({ db }: Opened, given: GivenFilter, limit: number | undefined): Promise<Answer> {
  const progress = progressOn(process.stderr)
  const options = { by: PERFORMED_BY, onProgress: progress.show, ...(limit !== undefined && { limit }) }
  const filter = await filterOf(db, given)
  await auditDeadLetters(db.pool, 'REPLAYED', { filter, limit })
  const { payloadPurged, outcomeUnknown } = await countDeadLetters(db.pool, filter)
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
      await auditDeadLetters(db.pool, 'PURGED', { filter: bounded, limit })
      const progress = progressOn(process.stderr)
      const options = { by: PERFORMED_BY, onProgress: progress.show, ...(limit !== undefined && { limit }) }
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

type Selection = { ids: string[] } | { filter: Awaited<ReturnType<typeof filterOf>>; limit?: number | undefined }

/** A filter is written before the first batch, ids in the transaction of each batch: a command that is killed has its entries, too. */
export async function auditDeadLetters(db: Queryable, action: 'REPLAYED' | 'PURGED', given: Selection): Promise<void> {
  const base = { performedBy: operator(), action: `DEAD_LETTERS_${action}` as const }
  if ('ids' in given) {
    for (const subjectId of given.ids) await writeAudit(db, { ...base, subjectType: 'email', subjectId })
    return
  }
  const { companyId, ...rest } = given.filter
  const { limit } = given
  await writeAudit(db, {
    ...base,
    subjectType: 'dead_letters',
    subjectId: companyId ?? 'all',
    companyId: companyId ?? null,
    after: { ...rest, ...(limit !== undefined && { limit }) },
  })
}
