import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import type pg from 'pg'
import { listCompanies } from '../companies/companies.ts'
import { CommandFailed } from '../console/command.ts'
import type { Progress } from '../console/output.ts'
import { counted } from '../console/words.ts'
import {
  addItems,
  carryOutOrStop,
  type JobCounts,
  type JobItem,
  type JobKind,
  type JobProblem,
  type NewJob,
  submitJob,
  takeItems,
} from '../jobs/jobs.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction } from '../platform/postgres/query.ts'
import { uuidv7 } from '../platform/text/uuid.ts'
import { CsvProblem, type CsvShape, readHeader, readLine } from './csv.ts'
import { addSuppressions } from './list.ts'
import type { SuppressionPolicy, SuppressionReason, SuppressionTtlDays } from './rules.ts'

/** Entries per statement. Larger statements are not faster and hold their locks longer. */
const BATCH = 5_000
const PROBLEMS_SHOWN = 100

/** A line, ready to be written: no address, and the lifetime as it was configured when the import was asked for. */
type ImportItem = { companyId: string | null; reason: SuppressionReason; expiresInDays: number; expiresAt?: string }

/**
 * In the order of hashes: in the order of the file, every row would touch another page of every index (a million rows beside other work
 * took 108 s instead of 48 s).
 */
export const importJobs: JobKind = {
  name: 'import-suppressions',
  maxErrors: 5,
  async nextBatch(tx, { jobId, requestedBy: performedBy, reason, position }) {
    const { after } = position as { after?: string }
    const items = await takeItems<ImportItem>(tx, jobId, BATCH, after)
    const justification = reason!
    const entries = items.map(({ key, item }) => ({
      ...item,
      emailHash: key.split(' ')[0]!,
      metadata: {},
      performedBy,
      justification,
    }))
    const counts: JobCounts = {}
    for (const { outcome } of await addSuppressions(tx, entries)) counts[outcome] = (counts[outcome] ?? 0) + 1
    return { counts, position: { after: items.at(-1)?.key }, next: items.length < BATCH ? 'end' : 'more' }
  },
}

export type ImportText = {
  /** The header comes first. */
  lines: Iterable<string> | AsyncIterable<string>
  maxLines?: number
  /** For lines that name no company; null is the global list. */
  companyId: string | null
  ttlDays: SuppressionTtlDays
}

type ReadImport = { read: number; refused: number; problems: JobProblem[] }

/**
 * The whole text is read first, in one transaction: killed, nothing is imported. Throws a CsvProblem for a text that is no such CSV as a
 * whole. A bad line only refuses itself, unless `check` throws.
 */
export async function submitImport(
  pool: pg.Pool,
  text: ImportText,
  by: Pick<NewJob, 'requestedBy' | 'reason' | 'isBulkAction'>,
  check: (read: ReadImport) => void = () => {},
): Promise<ReadImport & { jobId: string }> {
  const jobId = uuidv7()
  const { companyId } = text
  const companies = new Map(
    (await listCompanies(pool)).flatMap(({ companyId: id, name }) => [[name, id] as const, [id, id] as const]),
  )
  return inTransaction(pool, async tx => {
    const read: ReadImport = { read: 0, refused: 0, problems: [] }
    for await (const items of readItems(text, companies, read)) await addItems(tx, jobId, items)
    check(read)
    const { read: lines, refused, problems } = read
    const counts: JobCounts = refused > 0 ? { refused } : {}
    const input = { company: companyId, lines }
    const job: NewJob = { jobId, kind: 'import-suppressions', input, companyId, total: lines, counts, problems, ...by }
    await submitJob(tx, job)
    return { jobId, ...read }
  })
}

/** So many lines are parsed before other requests get their turn. */
const LINES_AT_ONCE = 1_000

async function* readItems(text: ImportText, companies: Map<string, string>, read: ReadImport) {
  let shape: CsvShape | null = null
  let items: JobItem[] = []
  let number = 0
  for await (const line of text.lines) {
    if (++number % LINES_AT_ONCE === 0) await letOthersRun()
    if (shape === null) {
      shape = readHeader(line)
      continue
    }
    if (line.trim() === '') continue
    if (++read.read > (text.maxLines ?? Number.POSITIVE_INFINITY))
      throw new CsvProblem(
        'CSV_TOO_MANY_LINES',
        `it has more than ${text.maxLines} lines; "email-gateway suppression import" takes more`,
        { limit: text.maxLines! },
      )
    try {
      items.push(readItem(line, number, shape, companies, text))
    } catch (error) {
      if (!(error instanceof CsvProblem)) throw error
      if (++read.refused <= PROBLEMS_SHOWN)
        read.problems.push({ line: number, problem: error.message, rule: error.rule })
    }
    if (items.length < BATCH) continue
    yield items
    items = []
  }
  if (shape === null) readHeader('')
  yield items
}

function readItem(
  line: string,
  number: number,
  shape: CsvShape,
  companies: Map<string, string>,
  text: ImportText,
): JobItem {
  const { emailHash, reason, expiresAt, company } = readLine(line, shape)
  const companyId = company === '' ? text.companyId : companies.get(company)
  if (companyId === undefined) throw new CsvProblem('CSV_COMPANY', 'names a company that does not exist')
  const expiresInDays = expiresAt === null ? 0 : text.ttlDays[reason]
  const item: ImportItem = { companyId, reason, expiresInDays, ...(expiresAt && { expiresAt }) }
  return { key: `${emailHash} ${number}`, item }
}

export type ImportOptions = {
  file: string
  /** Import nothing if any line is invalid. */
  strict: boolean
  performedBy: string
  justification: string
  /** For lines that name no company; null is the global list. */
  companyId: string | null
  policy: SuppressionPolicy
  progress: Progress
}

export type ImportSummary = {
  read: number
  added: number
  raised: number
  unchanged: number
  refused: number
  /** The first PROBLEMS_SHOWN, with their line numbers. */
  problems: { line: number; problem: string }[]
}

/** For a command. It can be run again after an interruption: existing entries are unchanged. */
export async function importSuppressions(db: Database, options: ImportOptions): Promise<ImportSummary> {
  const { file, strict, performedBy, justification, companyId, policy, progress } = options
  const text = { lines: linesOf(file), companyId, ttlDays: policy.ttlDays }
  const by = { requestedBy: performedBy, reason: justification, isBulkAction: false }
  const refuse = ({ refused, problems }: ReadImport) => {
    if (!strict || refused === 0) return
    const lines = problems.map(({ line, problem }) => `line ${line}: ${problem}`)
    throw new CommandFailed(`${file} has ${counted(refused, 'bad line')}; nothing was imported.\n${lines.join('\n')}`)
  }
  const submitted = await submitImport(db.pool, text, by, refuse).catch(error => {
    throw error instanceof CsvProblem ? new CommandFailed(`${file} cannot be imported: ${error.message}.`) : error
  })
  const { jobId, read, refused, problems } = submitted
  const { counts } = await carryOutOrStop(db.pool, jobId, importJobs, progress.show)
  const { added = 0, raised = 0, unchanged = 0 } = counts
  return { read, added, raised, unchanged, refused, problems: problems.map(({ line, problem }) => ({ line, problem })) }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    if (!(await stat(file)).isFile()) throw new CommandFailed(`${file} cannot be imported: it is not a file.`)
    const input = createReadStream(file, { highWaterMark: 1024 * 1024 })
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (error) {
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be read (${(error as Error).message}).`)
  }
}
