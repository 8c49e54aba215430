import { suppressionPolicy } from '../config.ts'
import { SUPPRESSION_REASONS } from '../contracts/suppression/rules.ts'
import type { SuppressionRow } from '../contracts/suppression/view.ts'
import type { Queryable } from '../db/query.ts'
import { listSuppressions, type SuppressionCursor, type SuppressionFilter } from '../db/suppression/reads.ts'
import { actionOf, type Command, reading, required, text, UsageError, writing } from './command.ts'
import { counted, entries as countOf } from './plural.ts'
import { progressOn } from './progress.ts'
import { asJson, counting, writeTo, writeToFile } from './stream-out.ts'
import { auditFields, listOfCompany, reasonOf, type SuppressionAction } from './suppression-arguments.ts'
import { add, check, remove } from './suppression-entries.ts'
import { type ImportSummary, importSuppressions } from './suppression-import.ts'

const PAGE = 5_000

/** Oldest first, page by page: the list may be larger than memory, and entries added during the export come at the end. */
async function* everySuppression(db: Queryable, filter: SuppressionFilter): AsyncGenerator<SuppressionRow> {
  let after: SuppressionCursor | null = null
  do {
    const page: Awaited<ReturnType<typeof listSuppressions>> = await listSuppressions(
      db,
      filter,
      { sort: 'addedAt', order: 'asc' },
      { after, limit: PAGE },
    )
    yield* page.entries
    after = page.next
  } while (after !== null)
}

/** The format that `import` reads. No field needs quoting: they are hashes, codes, times and ids. */
async function* asCsv(entries: AsyncIterable<SuppressionRow>): AsyncGenerator<string> {
  let text = 'email_hash,reason,expires_at,company,added_at\n'
  let lines = 0
  for await (const { emailHash, reason, expiresAt, companyId, addedAt } of entries) {
    text += `${emailHash},${reason},${expiresAt ?? 'never'},${companyId ?? ''},${addedAt}\n`
    if (++lines % 500 !== 0) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

export const suppressionCommand: Command = {
  usage: [
    ['suppression check ADDRESS|HASH', 'whether it is suppressed, why, until when, and its history'],
    ['suppression add ADDRESS|HASH --justification TEXT [OPTIONS]', 'add an address to the list'],
    [
      'suppression remove ADDRESS|HASH --justification TEXT [--by NAME]',
      'remove it from the list; complaints cannot be removed',
    ],
    ['suppression import FILE --justification TEXT [--strict] [--by NAME]', 'add the lines of a CSV file'],
    ['suppression export [--out FILE] [--reason REASON]', 'as CSV (with --json and without --out: one array)'],
  ],
  words: { check: 1, add: 1, remove: 1, import: 1, export: 0 },
  options: {
    company: { type: 'string', value: 'ID|NAME', help: 'the list of one company instead of the global one' },
    justification: { type: 'string', value: 'TEXT', help: 'why; written to the audit log' },
    reason: {
      type: 'string',
      value: SUPPRESSION_REASONS.join('|'),
      help: 'add: the reason; export: only entries with this reason',
    },
    days: { type: 'string', value: 'N', help: 'add: days until it expires; 0 is never (the default of the reason)' },
    by: { type: 'string', value: 'NAME', help: 'who; written to the audit log (cli: and the name of the user)' },
    out: { type: 'string', value: 'FILE', help: 'export: write to this file, readable by its owner only' },
    strict: { type: 'boolean', help: 'import: import nothing if any line is invalid' },
  },
  run({ words: [action, word], values }) {
    const act = actionOf<SuppressionAction>(ACTIONS, action, 'suppression')
    const unused = Object.keys(values).find(name => !['json', 'company', ...act.options].includes(name))
    if (unused) throw new UsageError(`--${unused} cannot be used here`)
    return act.prepare(values, word)()
  },
}

const importAction: SuppressionAction = {
  options: ['justification', 'strict', 'by'],
  prepare(values, word) {
    const file = required(word, 'FILE')
    const audit = auditFields(values)
    const strict = values.strict === true
    return writing(async opened => {
      const progress = progressOn(process.stderr)
      const policy = suppressionPolicy(opened.config)
      const companyId = await listOfCompany(opened, values)
      const options = { file, strict, ...audit, companyId, policy, progress }
      const summary = await importSuppressions(opened.db, options).finally(progress.end)
      return { json: summary, lines: summaryLines(summary), ...(summary.refused > 0 && { exitCode: 1 }) }
    })
  },
}

function summaryLines({ read, added, raised, unchanged, refused, problems }: ImportSummary): string[] {
  return [
    `${counted(read, 'line')}: ${added} added, ${raised} raised, ${unchanged} unchanged, ${refused} refused`,
    ...problems.map(({ line, problem }) => `line ${line}: ${problem}`),
    ...(refused > problems.length ? [`… and ${refused - problems.length} more`] : []),
  ]
}

const exportAction: SuppressionAction = {
  options: ['out', 'reason'],
  prepare(values) {
    const reason = reasonOf(values)
    const file = text(values, 'out')
    return reading(async opened => {
      const list = text(values, 'company') === undefined ? null : { companyId: await listOfCompany(opened, values) }
      const entries = everySuppression(opened.db.pool, { ...EVERYTHING, reason, list })
      if (file === undefined) {
        await writeTo(process.stdout, values.json === true ? asJson(entries, 'array') : asCsv(entries))
        return null
      }
      let exported = 0
      await writeToFile(file, asCsv(counting(entries, count => (exported = count))))
      return { json: { exported, file }, lines: [`Exported ${countOf(exported)} to ${file}`] }
    })
  },
}

const EVERYTHING = {
  hash: null,
  addedAfter: null,
  addedBefore: null,
  expiresAfter: null,
  expiresBefore: null,
  never: false,
}

const ACTIONS = { check, add, remove, import: importAction, export: exportAction }
