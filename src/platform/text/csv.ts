/**
 * Programs for spreadsheets run a cell that begins with one of these as a formula (OWASP: CSV injection). An apostrophe before it makes it
 * text. Texts come from recipients' servers and from clients.
 */
const FORMULA = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

/** One line of RFC 4180. */
export function csvLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /["\r\n,;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
