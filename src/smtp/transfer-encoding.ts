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
