import type { DnsRecord } from './records.ts'

const TTL_SECONDS = 3600
/** Of one string in a TXT record. */
const TXT_CHARS = 255

/** Lines of a zone file, as name servers read them (RFC 1035). */
export function zoneFile(domain: string, records: readonly DnsRecord[]): string[] {
  return [
    `; ${domain}: records for Email Gateway`,
    ...records.flatMap(record => [...(record.required ? [] : ['; recommended']), zoneLine(record)]),
  ]
}

function zoneLine({ name, type, value, priority }: DnsRecord): string {
  const data = type === 'TXT' ? quoted(value) : `${type === 'MX' ? `${priority} ` : ''}${value}.`
  return `${name}. ${TTL_SECONDS} IN ${type} ${data}`
}

function quoted(value: string): string {
  const parts = value.match(new RegExp(`.{1,${TXT_CHARS}}`, 'g')) ?? ['']
  return parts.map(part => `"${part.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(' ')
}

export type ShownRecord = DnsRecord & { state?: string }

/** Columns for a terminal. The value comes last: it may be long. */
export function recordTable(records: readonly ShownRecord[]): string[] {
  const rows = [
    ['FOR', 'TYPE', 'STATE', 'NAME', 'VALUE'],
    ...records.map(({ purpose, type, state, name, value, priority, required }) => [
      purpose,
      type,
      `${state ?? ''}${required ? '' : ' (recommended)'}`.trim(),
      name,
      priority === undefined ? value : `${priority} ${value}`,
    ]),
  ]
  const widths = rows[0]!.map((_cell, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
