import { isUuid } from '../contracts/uuid.ts'
import { findDeadLetter, listDeadLetters, OUTCOME_UNKNOWN, readClock } from '../db/outbox/dead-letters.ts'
import { actionOf, type Command, CommandFailed, type Input, reading, required, text, UsageError } from './command.ts'
import { type Action, LIMIT_MAX, MANY } from './dlq-action.ts'
import { everyDeadLetter, exportToFile } from './dlq-export.ts'
import { askedFilter, cursorOf, cursorText, FILTER_OPTIONS, FILTERS, filterOf, limitOf } from './dlq-filter.ts'
import { entryLines, pageLines } from './dlq-lines.ts'
import { purge } from './dlq-purge.ts'
import { replay } from './dlq-replay.ts'
import { entries as countOf } from './plural.ts'
import { asJson, writeTo } from './stream-out.ts'

export const dlqCommand: Command = {
  summary: 'list, show, replay, export and purge dead letters',
  usage: [
    ['dlq list [FILTER] [--limit N] [--after CURSOR]', 'newest first'],
    ['dlq show ID', 'one dead letter with its history'],
    ['dlq replay ID… [--dry-run]', 'start these e-mails afresh, with all their attempts and another 24 hours'],
    ['dlq replay FILTER | --all [--limit N] [--dry-run]', 'the same for all that match'],
    ['dlq export [FILTER] [--limit N] [--out FILE]', 'as JSON, one a line (with --json and without --out: one array)'],
    [
      'dlq purge FILTER | --all --yes | --dry-run [--limit N]',
      'delete them for good; the e-mails stay and cannot be replayed',
    ],
  ],
  words: Number.POSITIVE_INFINITY,
  options: {
    ...FILTER_OPTIONS,
    all: { type: 'boolean', help: 'without a filter: all of them' },
    limit: { type: 'string', value: 'N', help: 'at most so many; list has pages of 50' },
    after: { type: 'string', value: 'CURSOR', help: 'the next page of list' },
    out: { type: 'string', value: 'FILE', help: 'of export: a file, made readable by its owner alone' },
    yes: { type: 'boolean', help: 'of purge: really do it' },
    'dry-run': { type: 'boolean', help: 'of replay and purge: change nothing; how many, and the first ones' },
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
    return act.prepare(values, ids)()
  },
}

/** A filter that is not understood must not widen what is replayed or purged. */
function refuseOptions(values: Input['values'], allowed: readonly string[]): void {
  const orphan = Object.keys(values).find(name => name !== 'json' && !allowed.includes(name))
  if (orphan) throw new UsageError(`--${orphan} has no meaning here`)
}

const PAGE_MAX = 1_000

const list: Action = {
  options: [...FILTERS, 'limit', 'after'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const page = { after: cursorOf(text(values, 'after')), limit: limitOf(values, PAGE_MAX) ?? 50 }
    return reading(async ({ db }) => {
      const { entries, nextCursor } = await listDeadLetters(db.pool, await filterOf(db, asked), page)
      const json = { entries, nextCursor: nextCursor && cursorText(nextCursor) }
      return { json, lines: pageLines({ entries, nextCursor }) }
    })
  },
}

const show: Action = {
  options: [],
  ids: 1,
  prepare(_values, [given]) {
    const outboxId = required(given, 'ID')
    return reading(async ({ db }) => {
      const entry = await findDeadLetter(db.pool, outboxId)
      if (!entry) throw new CommandFailed(`There is no dead letter ${outboxId}.`)
      return { json: entry, lines: entryLines(entry) }
    })
  },
}

const exportAction: Action = {
  options: [...MANY, 'out'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const limit = limitOf(values, LIMIT_MAX)
    const file = text(values, 'out')
    return reading(async ({ db }) => {
      const filter = await filterOf(db, asked)
      const entries = everyDeadLetter(db.pool, { ...filter, until: filter.until ?? (await readClock(db.pool)) }, limit)
      if (file === undefined) {
        await writeTo(process.stdout, asJson(entries, values.json === true ? 'array' : 'lines'))
        return null
      }
      const exported = await exportToFile(file, entries)
      return { json: { exported, file }, lines: [`Exported ${countOf(exported)} to ${file}`] }
    })
  },
}

const ACTIONS = { list, show, replay, export: exportAction, purge }
