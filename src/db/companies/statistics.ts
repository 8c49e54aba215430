import { type Queryable, run } from '../query.ts'

/** Counts the events of the log into company_statistics, up to a minute ago. Any process may call it; one at a time does the work. */
export async function rollUpStatistics(db: Queryable): Promise<void> {
  await run(db, 'roll-up-statistics', 'select roll_up_statistics()', [])
}
