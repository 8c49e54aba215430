import { hash, randomFillSync } from 'node:crypto'

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const DIGITS = new TextEncoder().encode('0123456789abcdef')
const COUNTER_LIMIT = 0x1000
const ID_BYTES = 10
const POOL_BYTES = ID_BYTES * 512

/**
 * RFC 9562 version 7 with a 12-bit counter in rand_a (method 1), which starts each millisecond at a random value in its lower
 * half. A full counter moves on to the next millisecond; a clock that steps back is ignored until it has caught up. A
 * generator never repeats or decreases, so ids for past times (fixtures, imports) need a generator of their own.
 * docs/decisions.md says why the package `uuid` is not used.
 */
export function createUuidv7(): (nowMs?: number) => string {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  let lastMs = -1
  let counter = 0
  // One buffer, read as one string: a concatenation would keep a tree of partial strings in memory as long as the id.
  const text = Buffer.from(uuidv7Floor(new Date(0)))

  function putHex(position: number, byte: number): void {
    text[position] = DIGITS[byte >> 4]!
    text[position + 1] = DIGITS[byte & 15]!
  }

  function startMillisecond(ms: number, randomHigh: number, randomLow: number): void {
    lastMs = ms
    counter = ((randomHigh & 0x07) << 8) | randomLow
    text.write(timePrefix(ms), 'latin1')
  }

  return function uuidv7(nowMs = Date.now()) {
    // One system call for 512 ids: one call per id would cost ten times as much as the rest of this function.
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
    putHex(16, counter & 0xff)
    putHex(19, (pool[at]! & 0x3f) | 0x80)
    putHex(21, pool[at + 1]!)
    for (let nth = 0; nth < 6; nth++) putHex(24 + 2 * nth, pool[at + 2 + nth]!)
    return text.toString('latin1')
  }
}

/** The generator of this process. */
export const uuidv7 = createUuidv7()

export function uuidv7Time(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

/** The lowest id of a millisecond, for partition bounds and "since" filters. */
export function uuidv7Floor(date: Date): string {
  return `${timePrefix(date.getTime())}7000-8000-000000000000`
}

/** A version 8 id made from a hash of the text: the same text always gives the same id, so a second insert is a conflict. */
export function uuidOf(text: string): string {
  const hex = hash('sha256', text, 'hex')
  const variant = HEX[(Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80]!
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

/** The canonical form of any version, because callers may send ids made by other systems. */
export function isUuid(text: string): boolean {
  return CANONICAL.test(text)
}

function timePrefix(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-`
}
