import { isUuid } from '../contracts/uuid.ts'
import {
  countDeadLetters,
  type DeadLetter,
  findDeadLetter,
  listDeadLetters,
  OUTCOME_UNKNOWN,
  readClock,
} from '../db/outbox/dead-letters.ts'
import { firstDeadLetters } from '../db/outbox/dead-letters-dry-run.ts'
import { everyDeadLetter } from '../db/outbox/dead-letters-export.ts'
import { purgeDeadLetters } from '../db/outbox/dead-letters-purge.ts'
import {
  actionOf,
  type Command,
  type Input,
  notFound,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { type Action, LIMIT_MAX, requireSelection, SELECTION_OPTIONS } from './dlq-action.ts'
import { auditDeadLetters } from './dlq-audit.ts'
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
import { DRY_RUN_ENTRIES, dryRunLines, entryLines, pageLines } from './dlq-lines.ts'
import { replay } from './dlq-replay.ts'
import { entries } from './plural.ts'
import { asJson, counting, writeTo, writeToFile } from './stream-out.ts'

const BATCH = 1_000

const purge: Action = {
  options: [...SELECTION_OPTIONS, 'yes', 'dry-run'],
  prepare(values) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX) ?? Number.POSITIVE_INFINITY
    requireSelection(values, 'the entries to purge')
    return writing(async ({ db }) => {
      const filter = await filterOf(db, given)
      const bounded = { ...filter, until: filter.until ?? (await readClock(db.pool)) }
      const count = Math.min((await countDeadLetters(db.pool, bounded)).all, limit)
      if (values['dry-run'] === true) {
        const first = await firstDeadLetters(db.pool, bounded, {
          use: 'purge',
          limit: Math.min(DRY_RUN_ENTRIES, limit),
        })
        const json = { dryRun: true, purged: count, first }
        return { json, lines: [`Would purge ${entries(count)}`, ...dryRunLines(first, count)] }
      }
      if (values.yes !== true)
        throw new UsageError(
          `${entries(count)} would be purged for good; add --yes to do it, or --dry-run to list them`,
        )
      await auditDeadLetters(db.pool, 'PURGED', { filter: bounded, limit })
      let purged = 0
      for (let deleted = 1; deleted > 0 && purged < limit; purged += deleted)
        deleted = await purgeDeadLetters(db.pool, bounded, Math.min(BATCH, limit - purged))
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
