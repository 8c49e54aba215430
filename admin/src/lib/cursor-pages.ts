import type { PagesProps } from '../components/Pages.tsx'

/**
 * Previous and Next for a list with forward cursors. The cursors of the pages before are kept in the URL, so that a reload and a sent
 * link know the way back.
 */
export function cursorPages(
  cursors: string[] | undefined,
  next: string | null | undefined,
  go: (cursors: string[] | undefined) => void,
): PagesProps {
  const before = cursors ?? []
  return {
    onPrevious: before.length > 0 ? () => go(before.length > 1 ? before.slice(0, -1) : undefined) : undefined,
    onNext: next ? () => go([...before, next]) : undefined,
  }
}

/** From the search parameters of a route. */
export const cursorsOf = (value: unknown): string[] | undefined =>
  Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string') ? value : undefined

/** The start of a range such as `24h`, to the minute, so that a query has the same key for a while. */
export function sinceOf(range: string | undefined, nowMs = Date.now()): string | undefined {
  const hours = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }[range ?? '']
  if (hours === undefined) return undefined
  return new Date(Math.floor(nowMs / 60_000) * 60_000 - hours * 3_600_000).toISOString()
}
