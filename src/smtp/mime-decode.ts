import libmime from 'libmime'
import { SEND_LIMITS } from '../contracts/send-body.ts'
import { decodedAs } from './charset.ts'
import type { MimePart } from './mime-parts.ts'
import { cannotCarry, malformed } from './refused.ts'
import { decodeQuotedPrintable, isBase64 } from './transfer-encoding.ts'

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

/** Text of a body, with plain line breaks. Bytes that do not fit the charset are refused: recipients would see something else. */
export function decodedBody(part: MimePart): string {
  const written = decodedAs(part.params.charset ?? 'utf-8', decodedBytes(part), `${part.type} part`)
  // Longer texts are refused by the rules of the send body. Replacing the line breaks of 16 MB takes a second.
  if (written.length > 2 * SEND_LIMITS.CONTENT_BYTES) return written
  const text = written.replaceAll('\r\n', '\n')
  const isFlowed = part.params.format?.toLowerCase() === 'flowed'
  if (!isFlowed || text.length > SEND_LIMITS.CONTENT_BYTES) return text
  return libmime.decodeFlowed(text, part.params.delsp?.toLowerCase() === 'yes')
}
