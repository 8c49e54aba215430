import { TextDecoder } from 'node:util'
import { cannotCarry, malformed } from './refused.ts'

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
