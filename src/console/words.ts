import { rangeEndSchema } from '../platform/text/instant.ts'
import { UsageError } from './command.ts'

/** `1 lease`, `2 leases`; `many` for irregular plurals. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export const capitalised = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export const entries = (count: number) => counted(count, 'entry', 'entries')

/** A time option: an instant, or a duration before now. */
export type Moment = { agoMs: number } | { at: string }

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

export function momentOf(given: string | undefined, option: string): Moment | null {
  if (given === undefined) return null
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(given) ?? []
  if (count && unit) return { agoMs: Number(count) * UNIT_MS[unit]! }
  const at = rangeEndSchema.safeParse(/^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00:00Z` : given)
  if (!at.success) throw new UsageError(`${option} must be a time such as 2026-11-15T10:00:00Z, or 30m, 2h, 7d ago`)
  return { at: at.data }
}

function instantOf(moment: Moment | null, nowMs: number): string | null {
  if (moment === null) return null
  return 'at' in moment ? moment.at : new Date(Math.max(0, nowMs - moment.agoMs)).toISOString()
}

/** A range that holds no moment is a slip, and its empty answer would look like good news. */
export function rangeOf(since: Moment | null, until: Moment | null, nowMs: number) {
  const range = { since: instantOf(since, nowMs), until: instantOf(until, nowMs) }
  if (range.since !== null && Date.parse(range.since) >= Date.parse(range.until ?? new Date(nowMs).toISOString()))
    throw new UsageError(
      `--since (${range.since}) must be before ${range.until === null ? 'now' : `--until (${range.until})`}`,
    )
  return range
}

/** An option that is a day (UTC). */
export function dayOf(given: string | undefined, option: string): string | undefined {
  if (given === undefined) return undefined
  const isDay = /^\d{4}-\d\d-\d\d$/.test(given) && rangeEndSchema.safeParse(`${given}T00:00:00Z`).success
  if (!isDay) throw new UsageError(`${option} must be a day such as 2026-11-15`)
  return given
}
