import { instantSchema } from '../instant.ts'

const MAX_CHARS = 100
const SECOND_MS = 1000
const DAY_MS = 24 * 60 * 60 * SECOND_MS

const UNITS_MS: Readonly<Record<string, number>> = {
  second: SECOND_MS,
  sec: SECOND_MS,
  minute: 60 * SECOND_MS,
  min: 60 * SECOND_MS,
  hour: 60 * 60 * SECOND_MS,
  hr: 60 * 60 * SECOND_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
}

const DURATION = /^in (an?|\d{1,9}) (second|sec|minute|min|hour|hr|day|week)s?$/
const TIME_OF_DAY = /^(today|tomorrow)(?: at (\d{1,2})(?::(\d{2}))? ?(am|pm)?)?$/

export const SCHEDULED_AT_FORMS =
  'must be an ISO 8601 time such as 2026-11-15T10:00:00Z, or one of: in 5 min, in 1 hour, in 2 days, tomorrow at 9am (UTC)'

/** The `scheduled_at` of the Resend API: an ISO 8601 time or simple English. Returns UTC; null when it is neither. */
export function readScheduledAt(text: string, now: Date): string | null {
  if (text.length > MAX_CHARS) return null
  const words = text.trim().toLowerCase().replace(/\s+/g, ' ')
  const ms = readDuration(words, now) ?? readTimeOfDay(words, now)
  if (ms !== null) return instant(ms)
  const iso = instantSchema.safeParse(text.trim())
  return iso.success ? iso.data : null
}

function readDuration(words: string, now: Date): number | null {
  const [, amount, unit] = DURATION.exec(words) ?? []
  if (amount === undefined || unit === undefined) return null
  return now.getTime() + (amount.startsWith('a') ? 1 : Number(amount)) * UNITS_MS[unit]!
}

/** In UTC: neither the caller's time zone nor the recipient's is known. Without a time: the same time as now. */
function readTimeOfDay(words: string, now: Date): number | null {
  const [, day, hourText, minuteText, half] = TIME_OF_DAY.exec(words) ?? []
  if (day === undefined) return null
  const days = day === 'tomorrow' ? 1 : 0
  if (hourText === undefined) return now.getTime() + days * DAY_MS
  const hour = hourOf(Number(hourText), half)
  const minute = Number(minuteText ?? 0)
  if (hour === null || minute > 59) return null
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + days, hour, minute)
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour <= 23 ? hour : null
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half === 'pm' ? 12 : 0)
}

/** null: outside of the times that a Date can hold. */
function instant(ms: number): string | null {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}
