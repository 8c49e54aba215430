import { countDeadLetters, readClock } from '../db/outbox/dead-letters.ts'
import { firstDeadLetters } from '../db/outbox/dead-letters-dry-run.ts'
import { purgeDeadLetters } from '../db/outbox/dead-letters-purge.ts'
import { UsageError, writing } from './command.ts'
import { type Action, LIMIT_MAX, requireSelection, SELECTION_OPTIONS } from './dlq-action.ts'
import { auditDeadLetters } from './dlq-audit.ts'
import { filterOf, limitOf, readFilter } from './dlq-filter.ts'
import { DRY_RUN_ENTRIES, dryRunLines } from './dlq-lines.ts'
import { entries } from './plural.ts'

const BATCH = 1_000

export const purge: Action = {
  options: [...SELECTION_OPTIONS, 'yes', 'dry-run'],
  prepare(values) {
    const given = readFilter(values)
    const limit = limitOf(values, LIMIT_MAX) ?? Number.POSITIVE_INFINITY
    requireSelection(values, 'the entries to purge')
    return writing(async ({ db }) => {
      const filter = await filterOf(db, given)
      const bounded = { ...filter, until: filter.until ?? (await readClock(db.pool)) }
      const count = Math.min((await countDeadLetters(db.pool, bounded)).all, limit)
      if (values['dry-run'] === true) {
        const first = await firstDeadLetters(db.pool, bounded, {
          use: 'purge',
          limit: Math.min(DRY_RUN_ENTRIES, limit),
        })
        const json = { dryRun: true, purged: count, first }
        return { json, lines: [`Would purge ${entries(count)}`, ...dryRunLines(first, count)] }
      }
      if (values.yes !== true)
        throw new UsageError(
          `${entries(count)} would be purged for good; add --yes to do it, or --dry-run to list them`,
        )
      await auditDeadLetters(db.pool, 'PURGED', { filter: bounded, limit })
      let purged = 0
      for (let deleted = 1; deleted > 0 && purged < limit; purged += deleted)
        deleted = await purgeDeadLetters(db.pool, bounded, Math.min(BATCH, limit - purged))
      return { json: { purged }, lines: [`Purged ${entries(purged)}`] }
    })
  },
}
