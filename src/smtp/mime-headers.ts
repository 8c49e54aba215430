import { decodeWords } from './encoded-words.ts'
import { malformed } from './refused.ts'

/** `value` is unfolded and not decoded: where encoded words may stand depends on the header. */
export type MimeHeader = { name: string; lower: string; value: string }

const MAX_HEADERS = 200
const MAX_VALUE_CHARS = 16 * 1024
/** RFC 5322 ftext: printable ASCII except the colon. */
const NAME = /^[\x21-\x39\x3b-\x7e]{1,76}$/

/** Lines end with CRLF: everything else was refused when the message was read. */
export function parseHeaders(block: Buffer): MimeHeader[] {
  if (block.length === 0) return []
  const headers: MimeHeader[] = []
  for (const line of unfold(utf8(block))) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon))
    if (!NAME.test(name)) throw malformed('A line of the header is not "Name: value"')
    if (line.length > MAX_VALUE_CHARS)
      throw malformed(`The header ${name} is longer than ${MAX_VALUE_CHARS} characters`)
    headers.push({ name, lower: name.toLowerCase(), value: line.slice(colon + 1).trim() })
    if (headers.length > MAX_HEADERS) throw malformed(`A part has more than ${MAX_HEADERS} headers`)
  }
  return headers
}

/** The only header of this name. Readers of a message disagree on which of two counts, so two are refused. */
export function onlyHeader(headers: readonly MimeHeader[], lower: string): MimeHeader | undefined {
  const [first, second] = headers.filter(header => header.lower === lower)
  if (second) throw malformed(`The header ${second.name} is there more than once`)
  return first
}

/** Text that people read: encoded words are decoded. `value` may be a piece of the header's. */
export function decodedText({ name }: Pick<MimeHeader, 'name'>, value: string): string {
  return decodeWords(value, `header ${name}`)
}

function unfold(text: string): string[] {
  return text.replaceAll(/\r\n(?=[ \t])/g, '').split('\r\n')
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw malformed('The header has bytes that are neither ASCII nor UTF-8')
  }
}
