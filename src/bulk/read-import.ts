import { setImmediate as letOthersRun } from 'node:timers/promises'
import { BULK_LIMITS } from '../contracts/bulk-actions.ts'
import { CsvProblem, type CsvShape, type ImportedEntry, readHeader, readLine } from '../contracts/suppression/csv.ts'
import type { SuppressionTtlDays } from '../contracts/suppression/rules.ts'
import type { ImportItem } from './import-batch.ts'

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
  problems: { line: number; problem: string }[]
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
        `it has more than ${BULK_LIMITS.CSV_LINES} lines; "email-gateway suppression import" takes more`,
      )
    const item = readItem(line, shape, text)
    if (typeof item !== 'string') read.items.push(item)
    else if (++read.refused <= BULK_LIMITS.PROBLEMS) read.problems.push({ line: index + 2, problem: item })
  }
  read.items.sort((a, b) => (a.emailHash < b.emailHash ? -1 : a.emailHash > b.emailHash ? 1 : 0))
  return read
}

/** A text says what is wrong with the line. */
function readItem(line: string, shape: CsvShape, text: ImportText): ImportItem | string {
  try {
    return toItem(readLine(line, shape), text)
  } catch (error) {
    if (error instanceof CsvProblem) return error.message
    throw error
  }
}

function toItem({ emailHash, reason, expiresAt, company }: ImportedEntry, text: ImportText): ImportItem {
  const companyId = company === '' ? text.companyId : text.companies.get(company)
  if (companyId === undefined) throw new CsvProblem('names a company that does not exist')
  const expiresInDays = expiresAt === null ? 0 : text.ttlDays[reason]
  return { companyId, emailHash, reason, expiresInDays, ...(expiresAt && { expiresAt }) }
}
