import { decodedAs } from './charset.ts'
import { malformed } from './refused.ts'
import { hexByte, isBase64 } from './transfer-encoding.ts'

/** `=?charset*language?Q or B?text?=` of RFC 2047 and RFC 2231. */
const WORD = /=\?([\w.:+-]+)(?:\*[\w-]*)?\?([QqBb])\?([^?]*)\?=/g

/** Each word begins and ends in ASCII. Joined, the switch back and the next one would stand side by side, which is no valid text. */
const SWITCHING = /^iso-2022-/i

type Words = { charset: string; bytes: Buffer[] }

/**
 * Text with its encoded words decoded. Ours, because libmime puts other characters for bytes that do not fit their charset. Words that
 * follow each other are decoded together: some programs divide a character between two of them.
 */
export function decodeWords(text: string, what: string): string {
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
