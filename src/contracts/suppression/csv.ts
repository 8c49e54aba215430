import { instantSchema } from '../instant.ts'
import { isSuppressionReason, type SuppressionReason } from './rules.ts'
import { hashOfAddress, readEmailHash } from './view.ts'

/** What a line of an import may say. added_at is read and left: an entry is added when it is imported. */
const COLUMNS = ['email', 'email_hash', 'reason', 'expires_at', 'company', 'added_at'] as const
type Column = (typeof COLUMNS)[number]

/** Twice the longest that makes sense: a longer line is a file of another kind. */
const MAX_LINE = 4_096

export type CsvShape = { separator: ',' | ';'; places: Map<Column, number>; width: number }

/** expiresAt null: never. undefined: what the settings say for the reason. */
export type ImportedEntry = {
  emailHash: string
  reason: SuppressionReason
  expiresAt: string | null | undefined
  company: string
}

export class CsvProblem extends Error {
  override name = 'CsvProblem'
}

/** Spreadsheets in half of the world write semicolons, and some put a byte order mark first. */
export function readHeader(line: string): CsvShape {
  const text = line.replace(/^\ufeff/, '').trim()
  const separator = text.includes(';') && !text.includes(',') ? ';' : ','
  const names = splitLine(text, separator).map(name => name.trim().toLowerCase())
  const places = new Map<Column, number>()
  names.forEach((name, place) => {
    const column = COLUMNS.find(one => one === name)
    if (!column)
      throw new CsvProblem(`its header names a column "${name.slice(0, 40)}"; there are: ${COLUMNS.join(', ')}`)
    if (places.has(column)) throw new CsvProblem(`its header names "${column}" twice`)
    places.set(column, place)
  })
  if (!places.has('reason') || places.has('email') === places.has('email_hash'))
    throw new CsvProblem('its header must name reason, and either email or email_hash')
  return { separator, places, width: names.length }
}

/** Messages never repeat the line: it holds addresses. */
export function readLine(line: string, { separator, places, width }: CsvShape): ImportedEntry {
  if (line.length > MAX_LINE) throw new CsvProblem(`is longer than ${MAX_LINE} characters`)
  const fields = splitLine(line, separator)
  if (fields.length !== width) throw new CsvProblem(`has ${fields.length} fields instead of ${width}`)
  const field = (column: Column) => fields[places.get(column) ?? -1]?.trim() ?? ''
  const reason = field('reason').toUpperCase()
  if (!isSuppressionReason(reason)) throw new CsvProblem('has a reason that is not HARD_BOUNCE, COMPLAINT or MANUAL')
  return {
    emailHash: places.has('email') ? addressHash(field('email')) : writtenHash(field('email_hash')),
    reason,
    expiresAt: readEnd(field('expires_at')),
    company: field('company'),
  }
}

function addressHash(address: string): string {
  const asked = hashOfAddress(address)
  if (!asked.ok) throw new CsvProblem(asked.problem.message)
  return asked.emailHash
}

function writtenHash(text: string): string {
  const emailHash = readEmailHash(text)
  if (!emailHash) throw new CsvProblem('has an email_hash that is not sha256: and 64 hexadecimal digits')
  return emailHash
}

function readEnd(text: string): string | null | undefined {
  if (text === '') return undefined
  if (text.toLowerCase() === 'never') return null
  const parsed = instantSchema.safeParse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
  if (!parsed.success)
    throw new CsvProblem('has an expires_at that is neither a time such as 2027-01-31T10:00:00Z nor never')
  return parsed.data
}

/** One record a line: none of the columns has any use for a line break. */
function splitLine(line: string, separator: string): string[] {
  if (!line.includes('"')) return line.split(separator)
  const fields: string[] = []
  let rest = line
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*/.exec(rest)
    const end = quoted ? quoted[0].length : rest.indexOf(separator)
    const stop = end < 0 ? rest.length : end
    fields.push(quoted ? quoted[1]!.replaceAll('""', '"') : rest.slice(0, stop))
    if (stop >= rest.length) return fields
    if (rest[stop] !== separator) throw new CsvProblem('has a quotation mark where none belongs')
    rest = rest.slice(stop + 1)
  }
}
