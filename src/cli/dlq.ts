import { isUuid } from '../contracts/uuid.ts'
import { countDeadLetters, findDeadLetter, listDeadLetters, OUTCOME_UNKNOWN, readClock } from '../db/dead-letters.ts'
import { purgeDeadLetters } from '../db/dead-letters-purge.ts'
import type { NamedReplay } from '../db/dead-letters-replay.ts'
import { EntriesHeld, type ReplaySummary, replayMatching, replayNamed } from '../pipeline/replay-dead-letters.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  type Opened,
  required,
  text,
  UsageError,
  withStorage,
} from './command.ts'
import { everyDeadLetter, exportToFile } from './dlq-export.ts'
import {
  askedFilter,
  cursorOf,
  cursorText,
  FILTER_OPTIONS,
  FILTERS,
  filterOf,
  isFiltered,
  limitOf,
} from './dlq-filter.ts'
import { entryLines, pageLines } from './dlq-lines.ts'
import { progressOn } from './progress.ts'
import { asJson, writeTo } from './stream-out.ts'

export const dlqCommand: Command = {
  summary: 'list, show, replay, export and purge dead letters',
  usage: [
    ['dlq list [FILTER] [--limit N] [--after CURSOR]', 'newest first'],
    ['dlq show ID', 'one dead letter with its history'],
    ['dlq replay ID…', 'start these e-mails afresh, with all their attempts and another 24 hours'],
    ['dlq replay FILTER | --all [--limit N]', 'the same for all that match'],
    ['dlq export [FILTER] [--limit N] [--out FILE]', 'as JSON, one a line (with --json and without --out: one array)'],
    ['dlq purge FILTER | --all --yes [--limit N]', 'delete them for good; the e-mails stay and cannot be replayed'],
  ],
  words: Number.POSITIVE_INFINITY,
  options: {
    ...FILTER_OPTIONS,
    all: { type: 'boolean', help: 'without a filter: all of them' },
    limit: { type: 'string', value: 'N', help: 'at most so many; list has pages of 50' },
    after: { type: 'string', value: 'CURSOR', help: 'the next page of list' },
    out: { type: 'string', value: 'FILE', help: 'of export: a file, made readable by its owner alone' },
    yes: { type: 'boolean', help: 'of purge: really do it' },
  },
  notes: [
    `FILTER is one or more of ${FILTERS.map(name => `--${name}`).join(', ')}. What may have been sent already is replayed by its ID or with --code ${OUTCOME_UNKNOWN} only.`,
  ],
  run({ words: [action, ...ids], values }) {
    const act = actionOf<Action>(ACTIONS, action, 'dlq')
    refuseOptions(values, act.options)
    if (ids.length > act.ids) throw new UsageError(`"${ids[act.ids]}" is one word too many`)
    const wrong = ids.find(id => !isUuid(id))
    if (wrong !== undefined)
      throw new UsageError(`ID must be the outboxId of an e-mail, a UUID, and "${wrong}" is none`)
    const use = act.prepare(values, ids)
    return withStorage(use)
  },
}

/** Checked before the database is opened; what it returns is done with it. */
type Action = {
  options: readonly string[]
  ids: number
  prepare: (values: Input['values'], ids: string[]) => (opened: Opened) => Promise<Answer | null>
}

/** A filter that is not understood must not widen what is replayed or purged. */
function refuseOptions(values: Input['values'], allowed: readonly string[]): void {
  const stray = Object.keys(values).find(name => name !== 'json' && !allowed.includes(name))
  if (stray) throw new UsageError(`--${stray} has no meaning here`)
}

const MANY = [...FILTERS, 'limit', 'all']
const PAGE_MAX = 1_000
const LIMIT_MAX = 100_000_000
const BITE = 1_000

const list: Action = {
  options: [...FILTERS, 'limit', 'after'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const page = { after: cursorOf(text(values, 'after')), limit: limitOf(values, PAGE_MAX) ?? 50 }
    return async ({ db }) => {
      const { entries, nextCursor } = await listDeadLetters(db.pool, await filterOf(db, asked), page)
      const json = { entries, nextCursor: nextCursor && cursorText(nextCursor) }
      return { json, lines: pageLines({ entries, nextCursor }) }
    }
  },
}

const show: Action = {
  options: [],
  ids: 1,
  prepare(_values, [given]) {
    const outboxId = required(given, 'ID')
    return async ({ db }) => {
      const entry = await findDeadLetter(db.pool, outboxId)
      if (!entry) throw new CommandFailed(`There is no dead letter ${outboxId}.`)
      return { json: entry, lines: entryLines(entry) }
    }
  },
}

const BY = 'command line'

const replay: Action = {
  options: MANY,
  ids: Number.POSITIVE_INFINITY,
  prepare(values, ids) {
    const asked = askedFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    if (ids.length > 0) {
      if (MANY.some(name => values[name] !== undefined)) throw new UsageError('give ids or a filter, not both')
      return async ({ db }) => namedAnswer(await replayNamed(db.hot, ids, BY).catch(held))
    }
    demandChoice(values, 'which ones to replay: ID…')
    return async ({ db }) => {
      const progress = progressOn(process.stderr)
      const options = { by: BY, onProgress: progress.show, ...(limit !== undefined && { limit }) }
      const summary = await replayMatching(db.hot, await filterOf(db, asked), options)
        .catch(held)
        .finally(progress.end)
      return { json: summary, lines: [summaryLine(summary)] }
    }
  },
}

function demandChoice(values: Input['values'], what: string): void {
  if (values.all !== true && !isFiltered(values)) throw new UsageError(`say ${what}, a filter, or --all`)
}

function held(error: unknown): never {
  throw error instanceof EntriesHeld ? new CommandFailed(error.message) : error
}

/** Exit code 1 when one of them was not replayed; with none at all it is a failure and nothing else. */
function namedAnswer(outcomes: NamedReplay[]): Answer {
  const count = (outcome: NamedReplay['outcome']) => outcomes.filter(one => one.outcome === outcome).length
  const failed = outcomes.filter(one => one.outcome !== 'replayed').map(failureSentence)
  if (failed.length === outcomes.length) throw new CommandFailed(failed.join('\n'))
  const skipped = { payloadPurged: count('payload-purged'), outcomeUnknown: 0, notFound: count('not-found') }
  const summary: ReplaySummary = { replayed: count('replayed'), skipped }
  return { json: summary, lines: [summaryLine(summary), ...failed], ...(failed.length > 0 && { exitCode: 1 }) }
}

function failureSentence({ outboxId, outcome, status }: NamedReplay): string {
  if (status === null) return `There is no e-mail ${outboxId}.`
  if (outcome === 'payload-purged') return `${outboxId} cannot be replayed: its payload was purged.`
  return `${outboxId} is not in the dead letter queue: the e-mail is ${status}.`
}

function summaryLine({ replayed, skipped: { payloadPurged, outcomeUnknown, notFound } }: ReplaySummary): string {
  const skipped = [
    ...(payloadPurged > 0 ? [`${payloadPurged} payload purged`] : []),
    ...(outcomeUnknown > 0
      ? [`${outcomeUnknown} that may have been sent already (--code ${OUTCOME_UNKNOWN} replays them)`]
      : []),
    ...(notFound > 0 ? [`${notFound} not found`] : []),
  ]
  return `Replayed ${replayed}${skipped.length > 0 ? `, skipped: ${skipped.join(', ')}` : ''}`
}

const exportAction: Action = {
  options: [...MANY, 'out'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    const file = text(values, 'out')
    return async ({ db }) => {
      const filter = await filterOf(db, asked)
      const entries = everyDeadLetter(db.pool, { ...filter, until: filter.until ?? (await readClock(db.pool)) }, limit)
      if (file === undefined) {
        await writeTo(process.stdout, asJson(entries, values.json === true ? 'array' : 'lines'))
        return null
      }
      const exported = await exportToFile(file, entries)
      return { json: { exported, file }, lines: [`Exported ${exported} to ${file}`] }
    }
  },
}

const purge: Action = {
  options: [...MANY, 'yes'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const limit = limitOf(values, LIMIT_MAX) ?? Number.POSITIVE_INFINITY
    demandChoice(values, 'which ones to purge')
    return async ({ db }) => {
      const filter = await filterOf(db, asked)
      const bounded = { ...filter, until: filter.until ?? (await readClock(db.pool)) }
      const count = Math.min((await countDeadLetters(db.pool, bounded)).all, limit)
      if (values.yes !== true) throw new UsageError(`${count} entries would be purged for good; say --yes to do it`)
      let purged = 0
      for (let bite = 1; bite > 0 && purged < limit; purged += bite)
        bite = await purgeDeadLetters(db.pool, bounded, Math.min(BITE, limit - purged))
      return { json: { purged }, lines: [`Purged ${purged}`] }
    }
  },
}

const ACTIONS = { list, show, replay, export: exportAction, purge }
