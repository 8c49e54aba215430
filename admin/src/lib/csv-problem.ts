/** What the gateway finds wrong with a whole CSV is written like this (src/suppression/csv.ts and import.ts). */
const FORMS = {
  unknownColumn: /^its header names a column "(?<name>.*)"; there are: (?<columns>.+)$/s,
  columnTwice: /^its header names "(?<name>.*)" twice$/s,
  columnMissing: /^its header must name /,
  tooManyLines: /^it has more than (?<limit>\d+) lines/,
  quote: /^has a misplaced quotation mark/,
} as const

export type CsvProblem = { kind: keyof typeof FORMS; values: { name?: string; columns?: string; limit?: string } }

/** Undefined: said by its code alone. */
export function csvProblemOf(message: string): CsvProblem | undefined {
  for (const kind of Object.keys(FORMS) as CsvProblem['kind'][]) {
    const found = FORMS[kind].exec(message)
    if (found) return { kind, values: { ...found.groups } }
  }
  return undefined
}
