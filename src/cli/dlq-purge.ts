import { countDeadLetters, readClock } from '../db/outbox/dead-letters.ts'
import { firstDeadLetters } from '../db/outbox/dead-letters-dry-run.ts'
import { purgeDeadLetters } from '../db/outbox/dead-letters-purge.ts'
import { UsageError, writing } from './command.ts'
import { type Action, demandChoice, LIMIT_MAX, MANY } from './dlq-action.ts'
import { askedFilter, filterOf, limitOf } from './dlq-filter.ts'
import { FIRST_SHOWN, firstLines } from './dlq-lines.ts'
import { entries } from './plural.ts'

const BITE = 1_000

export const purge: Action = {
  options: [...MANY, 'yes', 'dry-run'],
  ids: 0,
  prepare(values) {
    const asked = askedFilter(values)
    const limit = limitOf(values, LIMIT_MAX) ?? Number.POSITIVE_INFINITY
    demandChoice(values, 'which ones to purge')
    return writing(async ({ db }) => {
      const filter = await filterOf(db, asked)
      const bounded = { ...filter, until: filter.until ?? (await readClock(db.pool)) }
      const count = Math.min((await countDeadLetters(db.pool, bounded)).all, limit)
      if (values['dry-run'] === true) {
        const first = await firstDeadLetters(db.pool, bounded, { use: 'purge', limit: Math.min(FIRST_SHOWN, limit) })
        const json = { dryRun: true, purged: count, first }
        return { json, lines: [`Would purge ${entries(count)}`, ...firstLines(first, count)] }
      }
      if (values.yes !== true)
        throw new UsageError(`${entries(count)} would be purged for good; say --yes to do it, or --dry-run to see them`)
      let purged = 0
      for (let bite = 1; bite > 0 && purged < limit; purged += bite)
        bite = await purgeDeadLetters(db.pool, bounded, Math.min(BITE, limit - purged))
      return { json: { purged }, lines: [`Purged ${entries(purged)}`] }
    })
  },
}
