import type pg from 'pg'
import { inTransaction } from '../query.ts'
import { closeDays, noteVanished } from './close.ts'
import { countSlice } from './count-slice.ts'
import { noticeChangedDays, noticeMissingDays } from './days.ts'
import { nameMissingRows } from './missing-rows.ts'
import { takeDueSlice } from './slices.ts'

export type NewFault = { kind: string; day: string; companyId: string | null; outboxId: string | null; emails: number }

/**
 * Brings the ledger up to date, hour by hour, for about `maxMs`. Any process may call it. `since`: only days from this one on.
 * `urgent`: somebody waits for it, whatever it costs.
 * Answers what does not agree and was not known before.
 */
export async function countLedger(
  pool: pg.Pool,
  { maxMs, since = null, urgent = false }: { maxMs: number; since?: string | null; urgent?: boolean },
): Promise<NewFault[]> {
  const until = performance.now() + maxMs
  const found: NewFault[] = []
  const touched = new Set<string>()
  for (const day of await noticeChangedDays(pool)) {
    const named = await nameMissingRows(pool, day)
    found.push(...named.map(fault => ({ ...fault, day, emails: 1 })))
  }
  found.push(...(await noticeMissingDays(pool)))
  do {
    const slice = await takeDueSlice(pool, { since, urgent })
    if (!slice) break
    const named = await countSlice(pool, slice)
    found.push(...named.map(fault => ({ ...fault, day: slice.day, emails: 1 })))
    touched.add(slice.day)
  } while (performance.now() < until)
  await inTransaction(pool, closeDays)
  const vanished = await inTransaction(pool, tx => noteVanished(tx, [...touched]))
  found.push(...vanished.map(one => ({ kind: 'VANISHED', outboxId: null, ...one })))
  return found
}
