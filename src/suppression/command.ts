import { justificationSchema } from '../audit/justification.ts'
import { requireCompany } from '../companies/command.ts'
import { companyNames } from '../companies/companies.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  operator,
  type Reading,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import { asJson, counting, progressOn, writeTo, writeToFile } from '../console/output.ts'
import { counted, entries as countOf } from '../console/words.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import { readEmailHash } from '../platform/text/hashing.ts'
import { type ImportSummary, importSuppressions } from './import.ts'
import { addSuppressions, removeSuppression } from './list.ts'
import { findEntries, listAudit, listSuppressions, type SuppressionCursor, type SuppressionFilter } from './reads.ts'
import { isSuppressionReason, SUPPRESSION_REASONS, type SuppressionReason, suppressionPolicy } from './rules.ts'
import { hashOfAddress, SUPPRESSION_LIMITS, type SuppressionRow } from './view.ts'

export const check: SuppressionAction = {
  options: [],
  prepare(values, word) {
    const emailHash = hashOf(word)
    return reading(async opened => {
      const companyId = await listOfCompany(opened, values)
      const all = await findEntries(opened.db.pool, emailHash)
      const entries = all.filter(
        entry => companyId === null || entry.companyId === null || entry.companyId === companyId,
      )
      const auditLog = await listAudit(opened.db.pool, emailHash, companyId)
      const suppressed = entries.length > 0
      const history = auditLog.map(
        one =>
          `${one.performedAt}  ${one.action}  ${one.reason}  by ${one.performedBy}${one.justification ? `: ${one.justification}` : ''}`,
      )
      const names = await companyNames(
        opened.db.pool,
        entries.flatMap(entry => entry.companyId ?? []),
      )
      const lines = suppressed ? entries.map(entry => entryLine(entry, names)) : [`${emailHash} is not suppressed.`]
      return { json: { emailHash, suppressed, entries, auditLog }, lines: [...lines, ...history] }
    })
  },
}

function entryLine(
  { emailHash, reason, addedAt, expiresAt, companyId }: SuppressionRow,
  names: Map<string, string>,
): string {
  const list = companyId ? `company ${names.get(companyId) ?? ''} (${companyId})` : 'all companies'
  return `${emailHash} is suppressed for ${list}: ${reason}, since ${addedAt}, ${expiresAt ? `until ${expiresAt}` : 'for ever'}`
}

export const add: SuppressionAction = {
  options: ['justification', 'reason', 'days', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const reason = reasonOf(values) ?? 'MANUAL'
    const { performedBy, justification } = auditFields(values)
    const days = daysOf(values)
    return writing(async opened => {
      const companyId = await listOfCompany(opened, values)
      const expiresInDays = days ?? suppressionPolicy(opened.config).ttlDays[reason]
      const entry = { companyId, emailHash, reason, expiresInDays, metadata: {}, performedBy, justification }
      const [outcome] = await addSuppressions(opened.db.pool, [entry])
      const now = (await findEntries(opened.db.pool, emailHash)).find(one => one.companyId === companyId)
      const json = { emailHash, outcome: outcome!.outcome, reason: now?.reason, expiresAt: now?.expiresAt }
      return {
        json,
        lines: [
          ...(outcome!.outcome === 'unchanged' ? ['It was listed already.'] : []),
          ...(now ? [entryLine(now, await companyNames(opened.db.pool, companyId ? [companyId] : []))] : []),
        ],
      }
    })
  },
}

export const remove: SuppressionAction = {
  options: ['justification', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const audit = auditFields(values)
    return writing(async opened => {
      const lists = [await listOfCompany(opened, values)]
      const outcome = await removeSuppression(opened.db.pool, { emailHash, lists, ...audit })
      if (outcome.kind === 'complaint')
        throw new CommandFailed('Cannot remove complaint suppressions (LGPD compliance).', 'COMPLAINT_NOT_REMOVABLE')
      if (outcome.kind === 'not-listed') throw new CommandFailed(`${emailHash} is not on that list.`, 'NOT_SUPPRESSED')
      const json = { removed: true, emailHash, removedBy: audit.performedBy, removedAt: outcome.removedAt }
      return { json, lines: [`Removed ${emailHash}`] }
    })
  },
}

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

/** `prepare` checks the arguments; the function that it returns opens the database. */
export type SuppressionAction = {
  options: string[]
  prepare: (values: Input['values'], word: string | undefined) => () => Promise<Answer | null>
}

export function hashOf(word: string | undefined): string {
  const given = required(word, 'ADDRESS|HASH')
  const hash = readEmailHash(given)
  if (hash) return hash
  const hashed = hashOfAddress(given)
  if (!hashed.ok) throw new UsageError(hashed.problem.message)
  return hashed.emailHash
}

export async function listOfCompany({ db }: Reading, values: Input['values']): Promise<string | null> {
  const company = text(values, 'company')
  return company === undefined ? null : (await requireCompany(db, company)).companyId
}

export function reasonOf(values: Input['values']): SuppressionReason | null {
  const given = text(values, 'reason')?.toUpperCase()
  if (given === undefined) return null
  if (!isSuppressionReason(given)) throw new UsageError(`--reason must be ${SUPPRESSION_REASONS.join(', ')}`)
  return given
}

export function daysOf(values: Input['values']): number | undefined {
  const given = text(values, 'days')
  if (given === undefined) return undefined
  const days = Number(given)
  if (given.trim() === '' || !Number.isInteger(days) || days < 0 || days > SUPPRESSION_LIMITS.EXPIRES_IN_DAYS)
    throw new UsageError(`--days must be a whole number from 0 (for ever) to ${SUPPRESSION_LIMITS.EXPIRES_IN_DAYS}`)
  return days
}

/** Every manual change is audited with a person and a reason. */
export function auditFields(values: Input['values']): { performedBy: string; justification: string } {
  const justification = justificationSchema.safeParse(required(text(values, 'justification'), '--justification TEXT'))
  if (!justification.success) throw new UsageError(`--justification ${justification.error.issues[0]!.message}`)
  const performedBy = text(values, 'by') ?? operator()
  if (!/^[^\p{Cc}]{1,100}$/u.test(performedBy)) throw new UsageError('--by must have 1 to 100 printable characters')
  return { performedBy, justification: justification.data }
}
