const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * An id in a list. A UUID of version 7 begins with the time, the same for all of a minute: its end tells it from its neighbours. Of a hash
 * the first digits, by which the suppression list is searched.
 */
export function shortId(id: string): string {
  if (UUID.test(id)) return `…${id.slice(-8)}`
  const digits = id.replace(/^sha256:/, '')
  return digits.length <= 10 ? digits : `${digits.slice(0, 8)}…`
}
