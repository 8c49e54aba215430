import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** By the first two digits of the hash: ten million entries are forty thousand a part. */
const DIGITS = 2
const PREFIX = 'sha256:'.length
const BUFFERED = 32 * 1024

/** Puts any number of entries in the order of their hashes, on the disk, with little of it in memory. Holds no address. */
export class HashSorter<Entry> {
  size = 0
  readonly #folder: string
  readonly #parts = new Map<string, { file: string; handle: number; buffered: string }>()

  constructor(where = tmpdir()) {
    this.#folder = mkdtempSync(join(where, 'email-gateway-import-'))
  }

  add(emailHash: string, entry: Entry): void {
    const part = this.#partOf(emailHash.slice(PREFIX, PREFIX + DIGITS))
    part.buffered += `${emailHash} ${JSON.stringify(entry)}\n`
    this.size++
    if (part.buffered.length >= BUFFERED) flush(part)
  }

  *chunks(size: number): Generator<[emailHash: string, entry: Entry][]> {
    let chunk: [string, Entry][] = []
    for (const name of [...this.#parts.keys()].sort()) {
      const part = this.#parts.get(name)!
      flush(part)
      for (const line of readFileSync(part.file, 'utf8').split('\n').sort()) {
        if (line === '') continue
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
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #partOf(name: string) {
    let part = this.#parts.get(name)
    if (!part) {
      const file = join(this.#folder, name)
      part = { file, handle: openSync(file, 'a', 0o600), buffered: '' }
      this.#parts.set(name, part)
    }
    return part
  }
}

function flush(part: { handle: number; buffered: string }): void {
  writeSync(part.handle, part.buffered)
  part.buffered = ''
}
