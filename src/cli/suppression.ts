import { userInfo } from 'node:os'
import { suppressionPolicy } from '../config.ts'
import { isSuppressionReason, SUPPRESSION_REASONS, type SuppressionReason } from '../contracts/suppression/rules.ts'
import {
  hashOfAddress,
  justificationSchema,
  readEmailHash,
  SUPPRESSION_LIMITS,
  type SuppressionRow,
} from '../contracts/suppression/view.ts'
import { companyNames } from '../db/companies/companies.ts'
import { removeSuppression } from '../db/suppression/ends.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { findEntries, listAudit } from '../db/suppression/reads.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  type Reading,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { known } from './company.ts'
import { counted, entries as countOf } from './plural.ts'
import { progressOn } from './progress.ts'
import { asJson, counting, writeTo, writeToFile } from './stream-out.ts'
import { asCsv, everySuppression } from './suppression-export.ts'
import { type ImportSummary, importSuppressions } from './suppression-import.ts'

export const suppressionCommand: Command = {
  summary: 'check, add, remove, import and export suppressed addresses',
  usage: [
    ['suppression check ADDRESS|HASH', 'whether it is suppressed, why, until when, and its history'],
    ['suppression add ADDRESS|HASH --justification TEXT [OPTIONS]', 'put an address on the list'],
    ['suppression remove ADDRESS|HASH --justification TEXT [--by NAME]', 'take it off; complaints cannot be removed'],
    ['suppression import FILE --justification TEXT [--strict] [--by NAME]', 'add the lines of a CSV file'],
    ['suppression export [--out FILE] [--reason REASON]', 'as CSV (with --json and without --out: one array)'],
  ],
  words: 2,
  options: {
    company: { type: 'string', value: 'ID|NAME', help: 'the list of one company instead of the global one' },
    justification: { type: 'string', value: 'TEXT', help: 'why; kept in the audit' },
    reason: { type: 'string', value: SUPPRESSION_REASONS.join('|'), help: 'the reason to add, or to export only' },
    days: { type: 'string', value: 'N', help: 'of add: how long; 0 is for ever (as the reason says)' },
    by: { type: 'string', value: 'NAME', help: 'who; kept in the audit (cli: and the name of the user)' },
    out: { type: 'string', value: 'FILE', help: 'of export: a file, made readable by its owner alone' },
    strict: { type: 'boolean', help: 'of import: one bad line, and nothing is imported' },
  },
  run({ words: [action, word], values }) {
    const act = actionOf<Action>(ACTIONS, action, 'suppression')
    const orphan = Object.keys(values).find(name => !['json', 'company', ...act.options].includes(name))
    if (orphan) throw new UsageError(`--${orphan} has no meaning here`)
    return act.prepare(values, word)()
  },
}

/** Checked before the database is opened; what it returns opens it. */
type Action = {
  options: string[]
  prepare: (values: Input['values'], word: string | undefined) => () => Promise<Answer | null>
}

const check: Action = {
  options: [],
  prepare(values, word) {
    const emailHash = hashOf(word)
    return reading(async opened => {
      const companyId = await listNamed(opened, values)
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

const add: Action = {
  options: ['justification', 'reason', 'days', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const reason = reasonOf(values) ?? 'MANUAL'
    const { performedBy, justification } = accountOf(values)
    const days = daysOf(values)
    return writing(async opened => {
      const companyId = await listNamed(opened, values)
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

const remove: Action = {
  options: ['justification', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const account = accountOf(values)
    return writing(async opened => {
      const lists = [await listNamed(opened, values)]
      const outcome = await removeSuppression(opened.db.pool, { emailHash, lists, ...account })
      if (outcome.kind === 'complaint')
        throw new CommandFailed('Cannot remove complaint suppressions (LGPD compliance).')
      if (outcome.kind === 'not-listed') throw new CommandFailed(`${emailHash} is not on that list.`)
      const json = { removed: true, emailHash, removedBy: account.performedBy, removedAt: outcome.removedAt }
      return { json, lines: [`Removed ${emailHash}`] }
    })
  },
}

const importAction: Action = {
  options: ['justification', 'strict', 'by'],
  prepare(values, word) {
    const file = required(word, 'FILE')
    const account = accountOf(values)
    const strict = values.strict === true
    return writing(async opened => {
      const progress = progressOn(process.stderr)
      const policy = suppressionPolicy(opened.config)
      const companyId = await listNamed(opened, values)
      const options = { file, strict, ...account, companyId, policy, progress }
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

const exportAction: Action = {
  options: ['out', 'reason'],
  prepare(values) {
    const reason = reasonOf(values)
    const file = text(values, 'out')
    return reading(async opened => {
      const list = text(values, 'company') === undefined ? null : { companyId: await listNamed(opened, values) }
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

function hashOf(word: string | undefined): string {
  const given = required(word, 'ADDRESS|HASH')
  const hash = readEmailHash(given)
  if (hash) return hash
  const asked = hashOfAddress(given)
  if (!asked.ok) throw new UsageError(asked.problem.message)
  return asked.emailHash
}

async function listNamed({ db }: Reading, values: Input['values']): Promise<string | null> {
  const company = text(values, 'company')
  return company === undefined ? null : (await known(db, company)).companyId
}

function reasonOf(values: Input['values']): SuppressionReason | null {
  const given = text(values, 'reason')?.toUpperCase()
  if (given === undefined) return null
  if (!isSuppressionReason(given)) throw new UsageError(`--reason must be ${SUPPRESSION_REASONS.join(', ')}`)
  return given
}

function daysOf(values: Input['values']): number | undefined {
  const given = text(values, 'days')
  if (given === undefined) return undefined
  const days = Number(given)
  if (given.trim() === '' || !Number.isInteger(days) || days < 0 || days > SUPPRESSION_LIMITS.EXPIRES_IN_DAYS)
    throw new UsageError(`--days must be a whole number from 0 (for ever) to ${SUPPRESSION_LIMITS.EXPIRES_IN_DAYS}`)
  return days
}

/** Who, and why: every change by hand is accounted for. */
function accountOf(values: Input['values']): { performedBy: string; justification: string } {
  const justification = justificationSchema.safeParse(required(text(values, 'justification'), '--justification TEXT'))
  if (!justification.success) throw new UsageError(`--justification ${justification.error.issues[0]!.message}`)
  const performedBy = text(values, 'by') ?? `cli:${userInfo().username}`
  if (!/^[^\p{Cc}]{1,100}$/u.test(performedBy)) throw new UsageError('--by must have 1 to 100 printable characters')
  return { performedBy, justification: justification.data }
}
