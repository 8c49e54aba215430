import { hash, randomFillSync } from 'node:crypto'

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const DIGITS = new TextEncoder().encode('0123456789abcdef')
const COUNTER_LIMIT = 0x1000
const ID_BYTES = 10
const POOL_BYTES = ID_BYTES * 512

/**
 * RFC 9562 version 7 with a 12-bit counter in rand_a (method 1), started at random in its lower half each millisecond. A
 * full counter borrows the next millisecond; a clock that steps back is ignored until it has caught up. One generator
 * never repeats or decreases, so whoever needs ids of the past (fixtures, imports) makes a generator for them.
 */
export function createUuidv7(): (nowMs?: number) => string {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  let lastMs = -1
  let counter = 0
  // Written into one buffer and read as one text: joined of its parts, an id is a tree of strings, kept as long as the id is.
  const text = Buffer.from(uuidv7Floor(new Date(0)))

  function put(place: number, byte: number): void {
    text[place] = DIGITS[byte >> 4]!
    text[place + 1] = DIGITS[byte & 15]!
  }

  function startMillisecond(ms: number, randomHigh: number, randomLow: number): void {
    lastMs = ms
    counter = ((randomHigh & 0x07) << 8) | randomLow
    text.write(timePrefix(ms), 'latin1')
  }

  return function uuidv7(nowMs = Date.now()) {
    // One system call for 512 ids: a call for each costs ten times as much as the rest of this function.
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const at = used
    used += ID_BYTES

    const ms = Math.floor(nowMs)
    if (ms > lastMs) startMillisecond(ms, pool[at + 8]!, pool[at + 9]!)
    else if (++counter === COUNTER_LIMIT) startMillisecond(lastMs + 1, pool[at + 8]!, pool[at + 9]!)

    text[15] = DIGITS[counter >> 8]!
    put(16, counter & 0xff)
    put(19, (pool[at]! & 0x3f) | 0x80)
    put(21, pool[at + 1]!)
    for (let nth = 0; nth < 6; nth++) put(24 + 2 * nth, pool[at + 2 + nth]!)
    return text.toString('latin1')
  }
}

/** The generator of this process. */
export const uuidv7 = createUuidv7()

export function uuidv7Time(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

/** The lowest id of that millisecond: partition bounds and "since" filters. */
export function uuidv7Floor(date: Date): string {
  return `${timePrefix(date.getTime())}7000-8000-000000000000`
}

/** The same id for the same text (version 8): what is written under it a second time is recognised. */
export function uuidOf(text: string): string {
  const hex = hash('sha256', text, 'hex')
  const variant = HEX[(Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80]!
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

/** The canonical form, of any version: what callers of other systems send is not ours to date. */
export function isUuid(text: string): boolean {
  return CANONICAL.test(text)
}

function timePrefix(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}
