import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from './command.ts'
import { visibleJson } from './terminal.ts'

/** To standard output, as fast as the reader reads. A reader that has seen enough (`| head`) is no failure. */
export async function writeTo(stream: Writable, pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(pieces), stream, { end: false })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/**
 * Under another name until it is whole, readable by its owner alone. In a folder that others can write to, both names may have been
 * planted: neither a link nor anybody's file is opened, and what is there under the name itself is replaced only if it is a file.
 */
export async function writeToFile(file: string, pieces: AsyncIterable<string>): Promise<void> {
  const unfinished = `${file}.${process.pid}.part`
  let made = false
  try {
    await refuseLink(file)
    const handle = await createAnew(unfinished)
    made = true
    await pipeline(Readable.from(pieces), handle.createWriteStream())
    await rename(unfinished, file)
  } catch (error) {
    if (made) await rm(unfinished, { force: true })
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be written (${(error as Error).message}).`)
  }
}

function createAnew(file: string): Promise<FileHandle> {
  return open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
}

async function refuseLink(file: string): Promise<void> {
  const found = await lstat(file).catch(() => null)
  if (found?.isSymbolicLink())
    throw new CommandFailed(`${file} is a link, which is not followed. Name the file itself.`)
  if (found && !found.isFile()) throw new CommandFailed(`${file} is there already, and is not a file.`)
}

/** `lines`: one JSON value a line. `array`: one JSON value in all, written as it comes. */
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

/** Passes everything on and counts it. */
export async function* counting<T>(entries: AsyncIterable<T>, counted: (count: number) => void): AsyncGenerator<T> {
  let count = 0
  for await (const entry of entries) {
    counted(++count)
    yield entry
  }
}
