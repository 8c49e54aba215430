import { type Answer, type Input, UsageError } from './command.ts'
import { FILTERS, isFiltered } from './dlq-filter.ts'

/** `prepare` checks the arguments; the function that it returns opens the database. */
export type Action = {
  options: readonly string[]
  prepare: (values: Input['values'], ids: string[]) => () => Promise<Answer | null>
}

export const SELECTION_OPTIONS = [...FILTERS, 'limit', 'all']
export const LIMIT_MAX = 100_000_000

export function requireSelection(values: Input['values'], what: string): void {
  if (values.all !== true && !isFiltered(values)) throw new UsageError(`give ${what}, a filter, or --all`)
}
