import libmime from 'libmime'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { knownCharset } from './charset.ts'
import { decodedText, type MimeHeader, onlyHeader, parseHeaders } from './mime-headers.ts'
import { cannotCarry, malformed } from './replies.ts'

export type MimePart = {
  headers: MimeHeader[]
  /** In lower case, such as text/html. */
  type: string
  params: Record<string, string>
  disposition: string | null
  filename: string | null
  /** Without the angle brackets. */
  contentId: string | null
  /** In lower case; 7bit when the part does not say. */
  encoding: string
  /** Not decoded. Empty for a multipart. */
  body: Buffer
  parts: MimePart[]
}

const MAX_DEPTH = 10
const MAX_PARTS = 100
/** Text, HTML and the attachments of a send body. */
const MAX_CONTENTS = SEND_LIMITS.ATTACHMENTS + 2
/** Content-Type and Content-Disposition: each of their parameters may be in a charset of its own, which takes time to decode. */
const MAX_PARAMETERS_CHARS = 4096
const MAX_HEADER_BYTES = 256 * 1024
const MAX_BOUNDARY_CHARS = 200
/** Spaces after a boundary. */
const MAX_PADDING = 80
/** Bounds the time that a message made for it can take. */
const MAX_SIMILAR_LINES = 10_000

const CRLF = Buffer.from('\r\n')
const END_OF_HEADER = Buffer.from('\r\n\r\n')

/**
 * Splits a message into its parts, which share its memory. Ours, because mailparser joins all text parts into one and does not show
 * multiparts, so nobody could tell what would be lost.
 */
export function parseMime(message: Buffer): MimePart {
  return parsePart(message, 1, { parts: 0, contents: 1 })
}

function parsePart(bytes: Buffer, depth: number, seen: { parts: number; contents: number }): MimePart {
  if (++seen.parts > MAX_PARTS) throw cannotCarry(`The message has more than ${MAX_PARTS} parts`)
  const { headers, body } = separate(bytes)
  const { type, params } = contentTypeOf(headers)
  const isMultipart = type.startsWith('multipart/')
  const { disposition, filename } = isMultipart ? { disposition: null, filename: null } : dispositionOf(headers, params)
  const contentId = onlyHeader(headers, 'content-id')?.value.replace(/^<(.*)>$/, '$1') || null
  const encoding = onlyHeader(headers, 'content-transfer-encoding')?.value.toLowerCase() || '7bit'
  const leaf = { headers, type, params, disposition, filename, contentId, encoding, body, parts: [] }
  if (!isMultipart) return leaf
  if (depth === MAX_DEPTH) throw cannotCarry(`The parts of the message are nested more than ${MAX_DEPTH} deep`)
  if (!['7bit', '8bit', 'binary'].includes(encoding))
    throw malformed(`A ${type} part must not be encoded as ${encoding}`)
  const pieces = splitAtBoundary(body, boundaryOf(type, params))
  if (pieces.length === 0) throw malformed(`A ${type} part has no parts`)
  // Each of them is, or has in it, at least one text or attachment. Counted before their headers are read.
  seen.contents += pieces.length - 1
  if (seen.contents > MAX_CONTENTS) throw tooManyContents()
  return { ...leaf, body: Buffer.alloc(0), parts: pieces.map(piece => parsePart(piece, depth + 1, seen)) }
}

const tooManyContents = () =>
  cannotCarry(`The message has more than ${SEND_LIMITS.ATTACHMENTS} attachments beside its text and HTML`)

function separate(bytes: Buffer): { headers: MimeHeader[]; body: Buffer } {
  // A part may begin with an empty line: then it has no header.
  if (bytes.subarray(0, 2).equals(CRLF)) return { headers: [], body: bytes.subarray(2) }
  const end = bytes.indexOf(END_OF_HEADER)
  const header = end === -1 ? withoutLineBreak(bytes) : bytes.subarray(0, end)
  if (header.length > MAX_HEADER_BYTES) throw malformed(`The header is longer than ${MAX_HEADER_BYTES} bytes`)
  return { headers: parseHeaders(header), body: end === -1 ? bytes.subarray(bytes.length) : bytes.subarray(end + 4) }
}

const withoutLineBreak = (bytes: Buffer) => (bytes.subarray(-2).equals(CRLF) ? bytes.subarray(0, -2) : bytes)

function contentTypeOf(headers: MimeHeader[]): { type: string; params: Record<string, string> } {
  const header = onlyHeader(headers, 'content-type')
  if (!header) return { type: 'text/plain', params: {} }
  const { value, params } = withParameters(header)
  const type = value.trim().toLowerCase()
  if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type))
    throw malformed('A Content-Type is not a media type such as text/html')
  return { type, params }
}

function withParameters({ name, value }: MimeHeader): { value: string; params: Record<string, string> } {
  if (value.length > MAX_PARAMETERS_CHARS)
    throw malformed(`The header ${name} is longer than ${MAX_PARAMETERS_CHARS} characters`)
  return libmime.parseHeaderValue(value)
}

function dispositionOf(headers: MimeHeader[], params: Record<string, string>) {
  const header = onlyHeader(headers, 'content-disposition')
  const parsed = header ? withParameters(header) : null
  const named = parsed?.params.filename ? header : onlyHeader(headers, 'content-type')
  const name = parsed?.params.filename || params.name
  return {
    disposition: parsed?.value.trim().toLowerCase() || null,
    filename: name && named ? fileName(named, name) : null,
  }
}

/** A charset of RFC 2231, such as `name*=utf-8''a` and `filename*0*=utf-8''a`. */
const NAME_CHARSET = /name\*(?:0\*)?\s*=\s*"?([^'";\s]+)'/gi

function fileName(header: MimeHeader, name: string): string {
  const charsets = new Set([...header.value.matchAll(NAME_CHARSET)].map(([, charset]) => charset!.toLowerCase()))
  for (const charset of charsets)
    if (!knownCharset(charset))
      throw cannotCarry(`The charset of the file name in ${header.name} is not known: use UTF-8`)
  // Many programs write encoded words here, although RFC 2047 forbids it.
  const decoded = decodedText(header, name)
  // libmime decodes RFC 2231, and puts this character for bytes that do not fit.
  if (decoded.includes('\ufffd'))
    throw malformed(`The file name in ${header.name} has bytes that are not of its charset`)
  return decoded
}

function boundaryOf(type: string, { boundary }: Record<string, string>): string {
  if (!boundary || boundary.length > MAX_BOUNDARY_CHARS) throw malformed(`A ${type} part has no valid boundary`)
  return boundary
}

/** What comes before the first boundary and after the last one is for readers without MIME, and belongs to no part. */
function splitAtBoundary(body: Buffer, boundary: string): Buffer[] {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const parts: Buffer[] = []
  let similarLines = 0
  let start = -1
  // The first line has no line break before it.
  let at = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2)) ? -2 : body.indexOf(delimiter)
  while (at !== -1) {
    const line = delimiterLine(body, at + delimiter.length)
    if (line) {
      if (start !== -1) parts.push(body.subarray(start, Math.max(start, at)))
      if (line.closes) return parts
      if (parts.length > MAX_CONTENTS) throw tooManyContents()
      start = line.end
    } else if (++similarLines > MAX_SIMILAR_LINES)
      throw malformed('Too many lines begin like the boundary of their part')
    // The line break of one delimiter may be the first of the next.
    at = body.indexOf(delimiter, line ? line.end - 2 : at + delimiter.length)
  }
  if (start !== -1) throw malformed('A multipart ends without its closing boundary: the message was cut')
  return parts
}

/** null: the line goes on after the boundary, so it is no delimiter. */
function delimiterLine(body: Buffer, afterBoundary: number): { closes: boolean; end: number } | null {
  const lineBreak = body.indexOf(CRLF, afterBoundary)
  const end = lineBreak === -1 ? body.length : lineBreak
  const rest = /^(--)?[ \t]*$/.exec(body.toString('latin1', afterBoundary, Math.min(end, afterBoundary + MAX_PADDING)))
  return rest && { closes: rest[1] !== undefined, end: lineBreak === -1 ? end : end + 2 }
}
