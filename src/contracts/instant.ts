import { z } from 'zod'

const EARLIEST_MS = 0
const LATEST_MS = Date.UTC(9999, 11, 31)

const written = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-11-15T10:00:00Z' })

/** A point in time as callers write it, with any offset; as we keep it, in UTC. The far ends of the calendar are typing errors. */
export const instantSchema = written
  .refine(text => {
    const ms = Date.parse(text)
    return ms >= EARLIEST_MS && ms <= LATEST_MS
  }, 'must lie between the years 1970 and 9999')
  .transform(text => new Date(text).toISOString())

/** The end of a range: "since 1900" is a fair question, and means the same as since 1970. */
export const rangeEndSchema = written.transform(text =>
  new Date(Math.min(Math.max(Date.parse(text), EARLIEST_MS), LATEST_MS)).toISOString(),
)
