import { readEmailHash } from '../platform/text/hashing.ts'
import { instantSchema } from '../platform/text/instant.ts'
import type { CsvRule } from '../platform/text/refusal.ts'
import { isSuppressionReason, type SuppressionReason } from './rules.ts'
import { hashOfAddress } from './view.ts'

/** added_at is accepted and ignored: an entry is added when it is imported. */
const COLUMNS = ['email', 'email_hash', 'reason', 'expires_at', 'company', 'added_at'] as const
type Column = (typeof COLUMNS)[number]

/** Twice the longest useful line; a longer one means that the file is not such a CSV. */
const MAX_LINE = 4_096

export type CsvShape = { separator: ',' | ';'; columnIndex: Map<Column, number>; width: number }

/** expiresAt null: never. undefined: the configured lifetime of the reason. */
export type ImportedEntry = {
  emailHash: string
  reason: SuppressionReason
  expiresAt: string | null | undefined
  company: string
}

/** `name`: the column that it is about. `limit`: the most that is allowed. */
type CsvDetails = { name?: string; limit?: number }

export class CsvProblem extends Error {
  override name = 'CsvProblem'
  readonly rule: CsvRule
  readonly details: CsvDetails

  constructor(rule: CsvRule, message: string, details: CsvDetails = {}) {
    super(message)
    this.rule = rule
    this.details = details
  }
}

/** Accepts semicolons, which spreadsheets write in many locales, and a byte order mark. */
export function readHeader(line: string): CsvShape {
  const text = line.replace(/^\ufeff/, '').trim()
  const separator = text.includes(';') && !text.includes(',') ? ';' : ','
  const names = splitLine(text, separator).map(name => name.trim().toLowerCase())
  const columnIndex = new Map<Column, number>()
  names.forEach((name, index) => {
    const column = COLUMNS.find(one => one === name)
    if (!column) {
      const shown = name.slice(0, 40)
      const message = `its header names a column "${shown}"; there are: ${COLUMNS.join(', ')}`
      throw new CsvProblem('CSV_UNKNOWN_COLUMN', message, { name: shown })
    }
    if (columnIndex.has(column))
      throw new CsvProblem('CSV_COLUMN_TWICE', `its header names "${column}" twice`, { name: column })
    columnIndex.set(column, index)
  })
  if (!columnIndex.has('reason') || columnIndex.has('email') === columnIndex.has('email_hash'))
    throw new CsvProblem('CSV_COLUMN_MISSING', 'its header must name reason, and either email or email_hash')
  return { separator, columnIndex, width: names.length }
}

/** Problem messages do not contain the line, because it holds an address. */
export function readLine(line: string, { separator, columnIndex, width }: CsvShape): ImportedEntry {
  if (line.length > MAX_LINE) throw new CsvProblem('CSV_LINE_TOO_LONG', `is longer than ${MAX_LINE} characters`)
  const fields = splitLine(line, separator)
  if (fields.length !== width) throw new CsvProblem('CSV_FIELDS', `has ${fields.length} fields instead of ${width}`)
  const field = (column: Column) => fields[columnIndex.get(column) ?? -1]?.trim() ?? ''
  const reason = field('reason').toUpperCase()
  if (!isSuppressionReason(reason))
    throw new CsvProblem('CSV_REASON', 'has a reason that is not HARD_BOUNCE, COMPLAINT or MANUAL')
  return {
    emailHash: columnIndex.has('email') ? hashFromAddress(field('email')) : hashFromText(field('email_hash')),
    reason,
    expiresAt: readExpiry(field('expires_at')),
    company: field('company'),
  }
}

function hashFromAddress(address: string): string {
  const hashed = hashOfAddress(address)
  if (!hashed.ok) throw new CsvProblem('CSV_ADDRESS', hashed.problem.message)
  return hashed.emailHash
}

function hashFromText(text: string): string {
  const emailHash = readEmailHash(text)
  if (!emailHash) throw new CsvProblem('CSV_HASH', 'has an email_hash that is not sha256: and 64 hexadecimal digits')
  return emailHash
}

function readExpiry(text: string): string | null | undefined {
  if (text === '') return undefined
  if (text.toLowerCase() === 'never') return null
  const parsed = instantSchema.safeParse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  if (!parsed.success)
    throw new CsvProblem(
      'CSV_EXPIRY',
      'has an expires_at that is neither a time such as 2027-01-31T10:00:00Z nor never',
    )
  return parsed.data
}

/**
 * One record per line, because no column needs a line break: a wrong quotation mark spoils one line and not the rest of the file.
 * docs/decisions.md says why no CSV library is used.
 */
function splitLine(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator)
  const fields: string[] = []
  let rest = line
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(rest)
    const found = quoted ? quoted[0].length : rest.indexOf(separator)
    const end = found < 0 ? rest.length : found
    fields.push(quoted ? quoted[1]!.replaceAll('""', '"') : rest.slice(0, end))
    if (end >= rest.length) return fields
    if (rest[end] !== separator) throw new CsvProblem('CSV_QUOTE', 'has a misplaced quotation mark')
    rest = rest.slice(end + 1)
  }
}
