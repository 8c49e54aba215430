import type pg from 'pg'
import { inTransaction } from '../query.ts'
import { closeDays, noteVanished } from './close.ts'
import { countSlice } from './count-slice.ts'
import { noticeChangedDays, noticeMissingDays } from './days.ts'
import { keepEmptyHours } from './empty-hours.ts'
import { nameMissingRows } from './missing-rows.ts'
import { readNow, takeDueSlice } from './slices.ts'

/**
 * Brings the ledger up to date, hour by hour, for about `maxMs`. Any process may call it. `since`: only days from this one on.
 * `urgent`: somebody waits for it, whatever it costs, and wants to see what was accepted a moment ago.
 */
export async function countLedger(
  pool: pg.Pool,
  { maxMs, since = null, urgent = false }: { maxMs: number; since?: string | null; urgent?: boolean },
): Promise<void> {
  const until = performance.now() + maxMs
  const counted = new Set<string>()
  const touched = new Set<string>()
  const askedAt = urgent ? await readNow(pool) : null
  for (const day of await noticeChangedDays(pool)) await nameMissingRows(pool, day)
  await noticeMissingDays(pool)
  await keepEmptyHours(pool, since)
  // Nothing but old hours is left when one comes again, such as after the clock was set back: the next call counts it.
  let done = false
  while (!done) {
    const slice = await takeDueSlice(pool, { since, askedAt })
    if (!slice) break
    await countSlice(pool, slice)
    touched.add(slice.day)
    const name = `${slice.day} ${slice.hour}`
    done = counted.has(name) || performance.now() >= until
    counted.add(name)
  }
  await inTransaction(pool, closeDays)
  await inTransaction(pool, tx => noteVanished(tx, [...touched]))
}
