import { setImmediate as letOthersRun } from 'node:timers/promises'
import type pg from 'pg'
import { listCompanies } from '../companies/companies.ts'
import { readClock } from '../outbox/dead-letters.ts'
import { countWalk } from '../outbox/dead-letters-purge.ts'
import { inTransaction } from '../platform/postgres/query.ts'
import { uuidv7 } from '../platform/text/uuid.ts'
import { CsvProblem, type CsvShape, type ImportedEntry, readHeader, readLine } from '../suppression/csv.ts'
import type { SuppressionTtlDays } from '../suppression/rules.ts'
import type { DeadLetterItem } from './dead-letters.ts'
import type { ImportItem } from './import.ts'
import { addItems, type NewBulkAction, putBulkAction } from './stored.ts'
import { BULK_LIMITS, type BulkCounts, type NewBulkActionBody } from './view.ts'

export type BulkRequest = { body: NewBulkActionBody; requestedBy: string; ttlDays: SuppressionTtlDays }

type Prepared = Pick<NewBulkAction, 'selection' | 'companyId' | 'total'> & {
  items: unknown[]
  failed?: number
  counts?: BulkCounts
  problems?: NewBulkAction['problems']
}

const ITEMS_PER_STATEMENT = 5_000

/**
 * Records what is to be done: once committed, it is carried out even if this process dies. A filter is bounded by the time of the
 * request, so dead letters that come later, also by its own replays, are left alone. Throws a CsvProblem when the text is no such CSV.
 */
export async function requestBulkAction(pool: pg.Pool, request: BulkRequest): Promise<string> {
  const { body, requestedBy } = request
  const prepared =
    body.kind === 'import-suppressions'
      ? await prepareImport(pool, body, request)
      : await prepareDeadLetters(pool, body)
  const { items, failed = 0, counts = {}, problems = [], ...rest } = prepared
  const actionId = uuidv7()
  const action = { actionId, kind: body.kind, requestedBy, reason: body.reason, failed, counts, problems, ...rest }
  await inTransaction(pool, async tx => {
    await putBulkAction(tx, action)
    for (let from = 0; from < items.length; from += ITEMS_PER_STATEMENT)
      await addItems(tx, actionId, items.slice(from, from + ITEMS_PER_STATEMENT))
  })
  return actionId
}

type DeadLetterBody = Exclude<NewBulkActionBody, { kind: 'import-suppressions' }>
type ImportBody = Extract<NewBulkActionBody, { kind: 'import-suppressions' }>

async function prepareDeadLetters(pool: pg.Pool, body: DeadLetterBody): Promise<Prepared> {
  if (body.outboxIds) {
    const items = [...new Set(body.outboxIds.map(id => id.toLowerCase()))].map(
      (outboxId): DeadLetterItem => ({ outboxId }),
    )
    return { selection: { chosen: items.length }, companyId: null, total: items.length, items }
  }
  const { company = null, code = null, status = null, since = null, until } = body.filter!
  const now = await readClock(pool)
  const selection = { company, code, status, since, until: until !== undefined && until < now ? until : now }
  const filter = { companyId: company, code, status, since, until: selection.until }
  const total = await countWalk(pool, filter, body.kind === 'purge-dead-letters' ? 'purge' : 'replay')
  return { selection, companyId: company, total, items: [] }
}

async function prepareImport(pool: pg.Pool, body: ImportBody, { ttlDays }: BulkRequest): Promise<Prepared> {
  const companies = await listCompanies(pool)
  const { items, lines, refused, problems } = await readImport({
    csv: body.csv,
    companies: new Map(
      companies.flatMap(({ companyId, name }) => [[name, companyId] as const, [companyId, companyId] as const]),
    ),
    companyId: body.company ?? null,
    ttlDays,
  })
  const companyId = body.company ?? null
  const counts = refused > 0 ? { refused } : {}
  return { selection: { company: companyId, lines }, companyId, total: lines, items, failed: refused, counts, problems }
}

/** So many lines are parsed before other requests get their turn. */
const LINES_AT_ONCE = 1_000

export type ImportText = {
  csv: string
  /** Ids by name and by id. */
  companies: Map<string, string>
  /** For lines that name no company; null is the global list. */
  companyId: string | null
  ttlDays: SuppressionTtlDays
}

export type ReadImport = {
  /** In the order of their hashes, in which rows are locked and index pages are near each other. */
  items: ImportItem[]
  lines: number
  refused: number
  /** The first of them. */
  problems: NewBulkAction['problems']
}

/** Throws a CsvProblem for a text that is no such CSV as a whole. A bad line only refuses itself. */
export async function readImport(text: ImportText): Promise<ReadImport> {
  const [header = '', ...lines] = text.csv.split(/\r\n|\r|\n/)
  const shape = readHeader(header)
  const read: ReadImport = { items: [], lines: 0, refused: 0, problems: [] }
  for (const [index, line] of lines.entries()) {
    if (index % LINES_AT_ONCE === 0) await letOthersRun()
    if (line.trim() === '') continue
    if (++read.lines > BULK_LIMITS.CSV_LINES)
      throw new CsvProblem(
        'CSV_TOO_MANY_LINES',
        `it has more than ${BULK_LIMITS.CSV_LINES} lines; "email-gateway suppression import" takes more`,
        { limit: BULK_LIMITS.CSV_LINES },
      )
    const item = readItem(line, shape, text)
    if (!(item instanceof CsvProblem)) read.items.push(item)
    else if (++read.refused <= BULK_LIMITS.PROBLEMS)
      read.problems.push({ line: index + 2, problem: item.message, rule: item.rule })
  }
  read.items.sort((a, b) => (a.emailHash < b.emailHash ? -1 : a.emailHash > b.emailHash ? 1 : 0))
  return read
}

function readItem(line: string, shape: CsvShape, text: ImportText): ImportItem | CsvProblem {
  try {
    return toItem(readLine(line, shape), text)
  } catch (error) {
    if (error instanceof CsvProblem) return error
    throw error
  }
}

function toItem({ emailHash, reason, expiresAt, company }: ImportedEntry, text: ImportText): ImportItem {
  const companyId = company === '' ? text.companyId : text.companies.get(company)
  if (companyId === undefined) throw new CsvProblem('CSV_COMPANY', 'names a company that does not exist')
  const expiresInDays = expiresAt === null ? 0 : text.ttlDays[reason]
  return { companyId, emailHash, reason, expiresInDays, ...(expiresAt && { expiresAt }) }
}
