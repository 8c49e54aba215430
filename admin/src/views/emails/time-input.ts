import type { Zone } from '../../lib/preferences.ts'

/** The value of a datetime-local field: minutes, in the zone that times are shown in. */
export function toInput(at: string, zone: Zone): string {
  const date = new Date(at)
  const shiftMs = zone === 'utc' ? 0 : date.getTimezoneOffset() * 60_000
  return new Date(date.getTime() - shiftMs).toISOString().slice(0, 16)
}

export const fromInput = (value: string, zone: Zone): string =>
  new Date(zone === 'utc' ? `${value}Z` : value).toISOString()
