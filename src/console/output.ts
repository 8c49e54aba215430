import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { PassThrough, Readable, type Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from './command.ts'

/** With backpressure. A reader that closes the pipe early (`| head`) is not an error. */
export async function writeTo(stream: Writable, pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(pieces), stream, { end: false })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/**
 * Writes to a temporary name and renames it, readable by its owner only. Other users may have created either name in a shared folder:
 * symbolic links and existing temporary files are refused, and only a regular file is replaced.
 */
export async function writeToFile(
  file: string,
  pieces: AsyncIterable<string>,
  encoding: Transform = new PassThrough(),
): Promise<void> {
  const unfinished = `${file}.${process.pid}.part`
  let created = false
  try {
    await refuseLink(file)
    const handle = await createExclusively(unfinished)
    created = true
    await pipeline(pieces, encoding, handle.createWriteStream())
    await rename(unfinished, file)
  } catch (error) {
    if (created) await rm(unfinished, { force: true })
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be written (${(error as Error).message}).`)
  }
}

function createExclusively(file: string): Promise<FileHandle> {
  return open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
}

async function refuseLink(file: string): Promise<void> {
  const found = await lstat(file).catch(() => null)
  if (found?.isSymbolicLink())
    throw new CommandFailed(`${file} is a link, which is not followed. Give the path of the file itself.`)
  if (found && !found.isFile()) throw new CommandFailed(`${file} exists already and is not a file.`)
}

/** `lines`: one JSON value per line. `array`: one JSON array. Both are written as the entries arrive. */
export type JsonForm = 'lines' | 'array'

export async function* asJson(entries: AsyncIterable<unknown>, form: JsonForm): AsyncGenerator<string> {
  let count = 0
  for await (const entry of entries) {
    const before = form === 'lines' ? '' : count === 0 ? '[' : ','
    count++
    yield `${before}${visibleJson(entry)}${form === 'lines' ? '\n' : ''}`
  }
  if (form === 'array') yield count === 0 ? '[]\n' : ']\n'
}

export async function* counting<T>(entries: AsyncIterable<T>, counted: (count: number) => void): AsyncGenerator<T> {
  let count = 0
  for await (const entry of entries) {
    counted(++count)
    yield entry
  }
}

const WIDTH = 30

export type Progress = { show: (done: number, total: number) => void; end: () => void }

/** `[######----] 6,000 of 10,000`, rewritten in place on a terminal; writes nothing otherwise. */
export function progressOn(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>): Progress {
  if (!stream.isTTY) return { show: () => {}, end: () => {} }
  let shown = false
  return {
    show(done, total) {
      shown = true
      stream.write(`\r${progressBar(done, total)}`)
    },
    end() {
      if (shown) stream.write('\n')
    },
  }
}

export function progressBar(done: number, total: number): string {
  const full = total === 0 ? WIDTH : Math.floor((done / total) * WIDTH)
  const number = (value: number) => value.toLocaleString('en-US')
  return `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${number(done)} of ${number(total)}`
}

/**
 * Names, subjects and error texts come from companies, recipients and providers. An escape sequence in one of them could clear the
 * screen or hide a line, and a bidirectional override could reverse a name.
 */
const CONTROL = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const CONTROL_BUT_LINES = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
/** Characters that JSON allows unescaped in a string and a terminal may interpret. */
const RAW_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

export function visibleLine(text: string): string {
  return text.replace(/[\r\n\t]+/g, ' ').replace(CONTROL, '')
}

/** Keeps line breaks and tabs. */
export function visibleText(text: string): string {
  return text.replace(CONTROL_BUT_LINES, '')
}

/** Parses to the same value. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    RAW_IN_JSON,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
