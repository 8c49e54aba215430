import { justificationSchema } from '../audit/justification.ts'
import { requireCompany } from '../companies/command.ts'
import { companyNames } from '../companies/companies.ts'
import { CommandFailed, command, operator, option, type Reading, UsageError, word } from '../console/command.ts'
import { asJson, counting, progressOn, writeTo, writeToFile } from '../console/output.ts'
import { counted, entries as countOf } from '../console/words.ts'
import type { Queryable } from '../platform/postgres/query.ts'
import { readEmailHash } from '../platform/text/hashing.ts'
import { type ImportSummary, importSuppressions } from './import.ts'
import { addSuppressions, removeSuppression } from './list.ts'
import { findEntries, listAudit, listSuppressions, type SuppressionCursor, type SuppressionFilter } from './reads.ts'
import { SUPPRESSION_REASONS, suppressionPolicy } from './rules.ts'
import { hashOfAddress, SUPPRESSION_LIMITS, type SuppressionRow } from './view.ts'

const ADDRESS_OR_HASH = word('ADDRESS|HASH', given => {
  const hash = readEmailHash(given)
  if (hash) return hash
  const hashed = hashOfAddress(given)
  if (!hashed.ok) throw new UsageError(hashed.problem.message)
  return hashed.emailHash
})

/** Every manual change is audited with a person and a reason. */
const options = {
  company: option.text('ID|NAME', 'the list of one company instead of the global one'),
  justification: option.everywhere(
    option.required(
      option.parsed('TEXT', 'why; written to the audit log', (given, flag) => {
        const justification = justificationSchema.safeParse(given)
        if (justification.success) return justification.data
        throw new UsageError(`${flag} ${justification.error.issues[0]!.message}`)
      }),
    ),
  ),
  reason: option.oneOf(SUPPRESSION_REASONS, 'add: the reason; export: only entries with this reason'),
  days: option.wholeNumber('N', 'add: days until it expires; 0 is never (the default of the reason)', {
    from: 0,
    to: SUPPRESSION_LIMITS.EXPIRES_IN_DAYS,
    meaning: 'for ever',
  }),
  by: option.everywhere(
    option.parsed('NAME', 'who; written to the audit log (cli: and the name of the user)', (given, flag) => {
      if (!/^[^\p{Cc}]{1,100}$/u.test(given)) throw new UsageError(`${flag} must have 1 to 100 printable characters`)
      return given
    }),
  ),
  out: option.text('FILE', 'export: write to this file, readable by its owner only'),
  strict: option.flag('import: import nothing if any line is invalid'),
}

export const suppressionCommand = command({ name: 'suppression', options }, action => ({
  check: action(
    {
      words: [ADDRESS_OR_HASH],
      what: 'whether it is suppressed, why, until when, and its history',
      options: ['company'],
      opens: 'reading',
    },
    async ({ words: [emailHash], options: { company } }, { db }) => {
      const companyId = await listOfCompany(db, company)
      const all = await findEntries(db.pool, emailHash)
      const entries = all.filter(
        entry => companyId === null || entry.companyId === null || entry.companyId === companyId,
      )
      const auditLog = await listAudit(db.pool, emailHash, companyId)
      const history = auditLog.map(
        ({ performedAt, action, reason, performedBy, justification }) =>
          `${performedAt}  ${action}  ${reason}  by ${performedBy}${justification ? `: ${justification}` : ''}`,
      )
      const suppressed = entries.length > 0
      const lines = suppressed ? await entryLines(db.pool, entries) : [`${emailHash} is not suppressed.`]
      return { json: { emailHash, suppressed, entries, auditLog }, lines: [...lines, ...history] }
    },
  ),

  add: action(
    {
      words: [ADDRESS_OR_HASH],
      form: '--justification TEXT [OPTIONS]',
      what: 'add an address to the list',
      options: ['company', 'reason', 'justification', 'by', 'days'],
      opens: 'writing',
    },
    async ({ words: [emailHash], options }, { db, config }) => {
      const { reason = 'MANUAL', by: performedBy = operator(), justification } = options
      const companyId = await listOfCompany(db, options.company)
      const expiresInDays = options.days ?? suppressionPolicy(config).ttlDays[reason]
      const addition = { companyId, emailHash, reason, expiresInDays, metadata: {}, performedBy, justification }
      const [result] = await addSuppressions(db.pool, [addition])
      const { outcome } = result!
      const entry = (await findEntries(db.pool, emailHash)).find(found => found.companyId === companyId)
      return {
        json: { emailHash, outcome, reason: entry?.reason, expiresAt: entry?.expiresAt },
        lines: [
          ...(outcome === 'unchanged' ? ['It was listed already.'] : []),
          ...(entry ? await entryLines(db.pool, [entry]) : []),
        ],
      }
    },
  ),

  remove: action(
    {
      words: [ADDRESS_OR_HASH],
      form: '--justification TEXT [--by NAME]',
      what: 'remove it from the list; complaints cannot be removed',
      options: ['company', 'justification', 'by'],
      opens: 'writing',
    },
    async ({ words: [emailHash], options: { company, justification, by: removedBy = operator() } }, { db }) => {
      const lists = [await listOfCompany(db, company)]
      const outcome = await removeSuppression(db.pool, { emailHash, lists, performedBy: removedBy, justification })
      if (outcome.kind === 'complaint')
        throw new CommandFailed('Cannot remove complaint suppressions (LGPD compliance).', 'COMPLAINT_NOT_REMOVABLE')
      if (outcome.kind === 'not-listed') throw new CommandFailed(`${emailHash} is not on that list.`, 'NOT_SUPPRESSED')
      const { removedAt } = outcome
      return { json: { removed: true, emailHash, removedBy, removedAt }, lines: [`Removed ${emailHash}`] }
    },
  ),

  import: action(
    {
      words: ['FILE'],
      form: '--justification TEXT [--strict] [--by NAME]',
      what: 'add the lines of a CSV file',
      options: ['company', 'justification', 'strict', 'by'],
      opens: 'writing',
    },
    async ({ words: [file], options: { company, justification, strict, by = operator() } }, { db, config }) => {
      const progress = progressOn(process.stderr)
      const policy = suppressionPolicy(config)
      const companyId = await listOfCompany(db, company)
      const asked = { file, strict, performedBy: by, justification, companyId, policy, progress }
      const summary = await importSuppressions(db, asked).finally(progress.end)
      return { json: summary, lines: summaryLines(summary), ...(summary.refused > 0 && { exitCode: 1 }) }
    },
  ),

  export: action(
    {
      form: '[--out FILE] [--reason REASON]',
      what: 'as CSV (with --json and without --out: one array)',
      options: ['company', 'out', 'reason'],
      opens: 'reading',
    },
    async ({ options: { company, out, reason = null }, json }, { db }) => {
      const list = company === undefined ? null : { companyId: await listOfCompany(db, company) }
      const entries = everySuppression(db.pool, { ...EVERYTHING, reason, list })
      if (out === undefined) {
        await writeTo(process.stdout, json ? asJson(entries, 'array') : asCsv(entries))
        return null
      }
      let exported = 0
      await writeToFile(out, asCsv(counting(entries, count => (exported = count))))
      return { json: { exported, file: out }, lines: [`Exported ${countOf(exported)} to ${out}`] }
    },
  ),
}))

/** null is the global list. */
async function listOfCompany(db: Reading['db'], company: string | undefined): Promise<string | null> {
  return company === undefined ? null : (await requireCompany(db, company)).companyId
}

async function entryLines(db: Queryable, entries: SuppressionRow[]): Promise<string[]> {
  const ids = entries.flatMap(({ companyId }) => companyId ?? [])
  const names = await companyNames(db, ids)
  return entries.map(({ emailHash, reason, addedAt, expiresAt, companyId }) => {
    const list = companyId ? `company ${names.get(companyId) ?? ''} (${companyId})` : 'all companies'
    const end = expiresAt ? `until ${expiresAt}` : 'for ever'
    return `${emailHash} is suppressed for ${list}: ${reason}, since ${addedAt}, ${end}`
  })
}

function summaryLines({ read, added, raised, unchanged, refused, problems }: ImportSummary): string[] {
  return [
    `${counted(read, 'line')}: ${added} added, ${raised} raised, ${unchanged} unchanged, ${refused} refused`,
    ...problems.map(({ line, problem }) => `line ${line}: ${problem}`),
    ...(refused > problems.length ? [`… and ${refused - problems.length} more`] : []),
  ]
}

const EVERYTHING = {
  hash: null,
  addedAfter: null,
  addedBefore: null,
  expiresAfter: null,
  expiresBefore: null,
  never: false,
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
