import { closeSync, mkdtempSync, openSync, readSync, rmdirSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Files by the first two digits of the hash: of ten million entries, each has about forty thousand. */
const DIGITS = 2
const PREFIX = 'sha256:'.length
const BUFFERED = 32 * 1024

type Part = { handle: number; bytes: number; buffered: string }

/**
 * Sorts any number of entries by hash, in temporary files with one part in memory at a time. The files are unlinked right after they
 * are opened, so nothing stays on disk however the process ends.
 */
export class HashSorter<Entry> {
  size = 0
  readonly #parts: Map<string, Part>

  constructor(where = tmpdir()) {
    const folder = mkdtempSync(join(where, 'email-gateway-import-'))
    this.#parts = new Map(Array.from({ length: 16 ** DIGITS }, (_, n) => openUnlinkedPart(folder, n)))
    rmdirSync(folder)
  }

  add(emailHash: string, entry: Entry): void {
    const part = this.#parts.get(emailHash.slice(PREFIX, PREFIX + DIGITS))!
    part.buffered += `${emailHash} ${JSON.stringify(entry)}\n`
    this.size++
    if (part.buffered.length >= BUFFERED) flush(part)
  }

  *chunks(size: number): Generator<[emailHash: string, entry: Entry][]> {
    let chunk: [string, Entry][] = []
    for (const part of this.#parts.values()) {
      for (const line of linesOf(part).sort()) {
        const space = line.indexOf(' ')
        chunk.push([line.slice(0, space), JSON.parse(line.slice(space + 1)) as Entry])
        if (chunk.length < size) continue
        yield chunk
        chunk = []
      }
    }
    if (chunk.length > 0) yield chunk
  }

  close(): void {
    for (const { handle } of this.#parts.values()) closeSync(handle)
  }
}

function openUnlinkedPart(folder: string, n: number): [string, Part] {
  const name = n.toString(16).padStart(DIGITS, '0')
  const file = join(folder, name)
  const handle = openSync(file, 'wx+', 0o600)
  unlinkSync(file)
  return [name, { handle, bytes: 0, buffered: '' }]
}

function flush(part: Part): void {
  part.bytes += writeSync(part.handle, part.buffered, part.bytes)
  part.buffered = ''
}

function linesOf(part: Part): string[] {
  flush(part)
  const content = Buffer.alloc(part.bytes)
  for (let read = 0; read < content.length; ) read += readSync(part.handle, content, read, content.length - read, read)
  return content.toString('utf8').split('\n').slice(0, -1)
}
