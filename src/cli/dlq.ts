import { isUuid } from '../contracts/uuid.ts'
import { findDeadLetter, listDeadLetters, OUTCOME_UNKNOWN, readClock } from '../db/outbox/dead-letters.ts'
import { everyDeadLetter } from '../db/outbox/dead-letters-export.ts'
import { actionOf, type Command, type Input, notFound, reading, required, text, UsageError } from './command.ts'
import { type Action, LIMIT_MAX, SELECTION_OPTIONS } from './dlq-action.ts'
import { exportToFile } from './dlq-export.ts'
import {
  cursorOf,
  cursorText,
  FILTER_OPTIONS,
  FILTERS,
  filterOf,
  isFiltered,
  limitOf,
  readFilter,
} from './dlq-filter.ts'
import { entryLines, pageLines } from './dlq-lines.ts'
import { purge } from './dlq-purge.ts'
import { replay } from './dlq-replay.ts'
import { entries as countOf } from './plural.ts'
import { asJson, writeTo } from './stream-out.ts'

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
