import { z } from 'zod'

const EARLIEST_MS = 0
const LATEST_MS = Date.UTC(9999, 11, 31)

/** A point in time as callers write it, with any offset; as we keep it, in UTC. Far ends of the calendar are typing errors. */
export const instantSchema = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-11-15T10:00:00Z' })
  .refine(text => {
    const ms = Date.parse(text)
    return ms >= EARLIEST_MS && ms <= LATEST_MS
  }, 'must lie between the years 1970 and 9999')
  .transform(text => new Date(text).toISOString())
