import { decodedAs, hexByte, isBase64 } from './charset.ts'
import { malformed } from './replies.ts'

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

/** `=?charset*language?Q or B?text?=` of RFC 2047 and RFC 2231. */
const WORD = /=\?([\w.:+-]+)(?:\*[\w-]*)?\?([QqBb])\?([^?]*)\?=/g

/** Each word begins and ends in ASCII. Joined, the switch back and the next one would stand side by side, which is no valid text. */
const SWITCHING = /^iso-2022-/i

type Words = { charset: string; bytes: Buffer[] }

/**
 * Text with its encoded words decoded. Ours, because libmime puts other characters for bytes that do not fit their charset. Words that
 * follow each other are decoded together: some programs divide a character between two of them.
 */
function decodeWords(text: string, what: string): string {
  const decoded: string[] = []
  let words: Words | null = null
  let end = 0
  const finish = () => {
    if (words) decoded.push(decodedAs(words.charset, Buffer.concat(words.bytes), what))
    words = null
  }
  for (const match of text.matchAll(WORD)) {
    const [whole, charset = '', encoding = '', written = ''] = match
    const between = text.slice(end, match.index)
    const follows: boolean = words !== null && between.trim() === ''
    if (!follows || words?.charset !== charset.toLowerCase() || SWITCHING.test(charset)) finish()
    // Spaces between two words only separate them.
    if (!follows) decoded.push(between)
    words ??= { charset: charset.toLowerCase(), bytes: [] }
    words.bytes.push(encoding.toUpperCase() === 'B' ? fromBase64(written, what) : fromQ(written))
    end = match.index + whole.length
  }
  finish()
  decoded.push(text.slice(end))
  return decoded.join('')
}

/**
 * The same words in base64: in the other form, a `:` or `,` that should have been encoded would divide an address header.
 */
export function withBase64Words(text: string): string {
  return text.replace(WORD, (word, charset: string, encoding: string, written: string) =>
    encoding.toUpperCase() === 'B' ? word : `=?${charset}?B?${fromQ(written).toString('base64')}?=`,
  )
}

function fromBase64(written: string, what: string): Buffer {
  if (!isBase64(Buffer.from(written))) throw malformed(`The ${what} has an encoded word that is not valid base64`)
  return Buffer.from(written, 'base64')
}

/** Quoted-printable with `_` for a space. */
function fromQ(written: string): Buffer {
  const bytes = Buffer.from(written.replaceAll('_', ' '))
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const escaped = bytes[i] === EQUALS ? hexByte(bytes, i + 1) : -1
    bytes[length++] = escaped === -1 ? bytes[i]! : escaped
    if (escaped !== -1) i += 2
  }
  return bytes.subarray(0, length)
}

const EQUALS = 61
