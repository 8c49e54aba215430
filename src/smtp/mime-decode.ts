import { TextDecoder } from 'node:util'
import libmime from 'libmime'
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
      return Buffer.from(body.toString('latin1'), 'base64')
    case 'quoted-printable':
      return decodeQuotedPrintable(body.toString('latin1'))
    default:
      throw cannotCarry(`The transfer encoding of a ${type} part is not known: use base64 or quoted-printable`)
  }
}

/** Spaces before a line break were added on the way; `=` at the end of a line joins it with the next (RFC 2045). */
function decodeQuotedPrintable(text: string): Buffer {
  const joined = text.replaceAll(/(?<![ \t])[ \t]+(?=\r\n|$)/g, '').replaceAll('=\r\n', '')
  const bytes = joined.replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1')
}

/** Text of a body, with plain line breaks. Bytes that do not fit the charset are refused: recipients would see something else. */
export function decodedBody(part: MimePart): string {
  const text = decoder(part)(decodedBytes(part)).replaceAll('\r\n', '\n')
  if (part.params.format?.toLowerCase() !== 'flowed') return text
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
