import { z } from 'zod'

const EARLIEST_MS = 0
const MAX_CHARS = 100
const LATEST_MS = Date.UTC(9999, 11, 31)

const isoDateTime = z.iso.datetime({
  offset: true,
  error: 'must be a time such as 2026-11-15T10:00:00Z',
})

/** Accepts any offset and returns UTC. Years outside 1970–9999 are taken for typing errors. */
export const instantSchema = isoDateTime
  .refine(text => {
    // What is no time is refused above, and for that alone; parsing megabytes of it would block the event loop.
    if (text.length > MAX_CHARS) return true
    const ms = Date.parse(text)
    return Number.isNaN(ms) || (ms >= EARLIEST_MS && ms <= LATEST_MS)
  }, 'must lie between the years 1970 and 9999')
  .transform(text => new Date(text).toISOString())

/** One end of a search range: "since 1900" is allowed and means since 1970. */
export const rangeEndSchema = isoDateTime.transform(text =>
  new Date(Math.min(Math.max(Date.parse(text), EARLIEST_MS), LATEST_MS)).toISOString(),
)
