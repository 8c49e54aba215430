import { TextDecoder } from 'node:util'
import { cannotCarry, malformed } from './replies.ts'

/** Bytes that do not fit the charset are refused: recipients would see something else. `what` is named in the refusal. */
export function decodedAs(charset: string, bytes: Buffer, what: string): string {
  const decoder = knownCharset(charset)
  if (!decoder) throw cannotCarry(`The charset of the ${what} is not known: use UTF-8`)
  const text = decodedBy(decoder, bytes)
  if (text === null) throw malformed(`The ${what} has bytes that are not ${decoder.encoding}`)
  // Postgres cannot store it. NUL bytes were refused when the message was read; this one was encoded.
  if (text.includes('\0')) throw malformed(`The ${what} has a NUL character`)
  return text
}

function decodedBy(decoder: TextDecoder, bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

/** null: it is not known. */
export function knownCharset(charset: string): TextDecoder | null {
  const lower = charset.trim().toLowerCase()
  // Bytes above 127 are no ASCII; programs that write them mean UTF-8.
  const label = lower === 'us-ascii' || lower === 'ascii' ? 'utf-8' : lower
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    return null
  }
}

const [TAB, LF, CR, SPACE, PLUS, SLASH, EQUALS] = [9, 10, 13, 32, 43, 47, 61]

/** Buffer.from stops at the first padding and leaves out what it does not know, so a file would be cut without a word. */
export function isBase64(bytes: Buffer): boolean {
  let digits = 0
  let padding = 0
  for (const byte of bytes) {
    if (byte === CR || byte === LF || byte === SPACE || byte === TAB) continue
    if (byte === EQUALS) padding++
    else if (padding > 0 || !isBase64Digit(byte)) return false
    else digits++
  }
  return padding <= 2 && (digits + padding) % 4 === 0
}

function isBase64Digit(byte: number): boolean {
  const upper = byte & ~32
  return (upper >= 65 && upper <= 90) || (byte >= 48 && byte <= 57) || byte === PLUS || byte === SLASH
}

/** RFC 2045. By bytes, because a file of 16 MB may be written in this way. */
export function decodeQuotedPrintable(body: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(body.length)
  let length = 0
  // Spaces at the end of a line were added on the way.
  let withoutSpaces = 0
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!
    const isEndOfLine = body[i + 1] === CR && body[i + 2] === LF
    const escaped = byte === EQUALS && !isEndOfLine ? hexByte(body, i + 1) : -1
    if (byte === CR) length = withoutSpaces
    if (byte === EQUALS && isEndOfLine) i += 2
    else decoded[length++] = escaped === -1 ? byte : escaped
    if (escaped !== -1) i += 2
    if (escaped !== -1 || (byte !== SPACE && byte !== TAB)) withoutSpaces = length
  }
  return decoded.subarray(0, length)
}

/** -1: not two hexadecimal digits. */
export function hexByte(body: Buffer, at: number): number {
  const high = hexDigit(body[at])
  const low = hexDigit(body[at + 1])
  return high === -1 || low === -1 ? -1 : high * 16 + low
}

function hexDigit(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const upper = byte & ~32
  return upper >= 65 && upper <= 70 ? upper - 55 : -1
}
