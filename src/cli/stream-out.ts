import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises'
import { PassThrough, Readable, type Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from './command.ts'
import { visibleJson } from './terminal.ts'

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
