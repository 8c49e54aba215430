import { type Answer, type Input, UsageError } from './command.ts'
import { FILTERS, isFiltered } from './dlq-filter.ts'

/** Checked before the database is opened; what it returns opens it. */
export type Action = {
  options: readonly string[]
  ids: number
  prepare: (values: Input['values'], ids: string[]) => () => Promise<Answer | null>
}

/** Options of the actions that take many entries. */
export const MANY = [...FILTERS, 'limit', 'all']
export const LIMIT_MAX = 100_000_000

export function demandChoice(values: Input['values'], what: string): void {
  if (values.all !== true && !isFiltered(values)) throw new UsageError(`say ${what}, a filter, or --all`)
}
