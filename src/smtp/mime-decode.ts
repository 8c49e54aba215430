import { TextDecoder } from 'node:util'
import libmime from 'libmime'
import { SEND_LIMITS } from '../contracts/send-body.ts'
import type { MimePart } from './mime-parts.ts'
import { cannotCarry, malformed } from './refused.ts'

/** The bytes of a part without their transfer encoding. */
export function decodedBytes({ encoding, body, type }: MimePart): Buffer {
  switch (encoding) {
    case '7bit':
    case '8bit':
    case 'binary':
      return body
    case 'base64':
      if (!isBase64(body))
        throw malformed(`The ${type} part is not valid base64: it was cut, or has other characters or a padding inside`)
      return Buffer.from(body.toString('latin1'), 'base64')
    case 'quoted-printable':
      return decodeQuotedPrintable(body)
    default:
      throw cannotCarry(`The transfer encoding of a ${type} part is not known: use base64 or quoted-printable`)
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
function decodeQuotedPrintable(body: Buffer): Buffer {
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
function hexByte(body: Buffer, at: number): number {
  const high = hexDigit(body[at])
  const low = hexDigit(body[at + 1])
  return high === -1 || low === -1 ? -1 : high * 16 + low
}

function hexDigit(byte = 0): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const upper = byte & ~32
  return upper >= 65 && upper <= 70 ? upper - 55 : -1
}

/** Text of a body, with plain line breaks. Bytes that do not fit the charset are refused: recipients would see something else. */
export function decodedBody(part: MimePart): string {
  const text = decoder(part)(decodedBytes(part)).replaceAll('\r\n', '\n')
  const isFlowed = part.params.format?.toLowerCase() === 'flowed'
  // Longer texts are refused by the rules of the send body.
  if (!isFlowed || text.length > SEND_LIMITS.CONTENT_BYTES) return text
  return libmime.decodeFlowed(text, part.params.delsp?.toLowerCase() === 'yes')
}

function decoder({ params, type }: MimePart): (bytes: Buffer) => string {
  const charset = (params.charset ?? 'utf-8').trim().toLowerCase()
  // Bytes above 127 are no ASCII; programs that write them mean UTF-8.
  const label = charset === 'us-ascii' || charset === 'ascii' ? 'utf-8' : charset
  const known = textDecoder(label)
  if (!known) throw cannotCarry(`The charset of the ${type} part is not known: use UTF-8`)
  return bytes => {
    try {
      return known.decode(bytes)
    } catch {
      throw malformed(`The ${type} part has bytes that are not ${known.encoding}`)
    }
  }
}

function textDecoder(label: string): TextDecoder | null {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    return null
  }
}
