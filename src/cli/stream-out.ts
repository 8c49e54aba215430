import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CommandFailed } from './command.ts'

/** To standard output, as fast as the reader reads. A reader that has seen enough (`| head`) is no failure. */
export async function writeTo(stream: Writable, pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(Readable.from(pieces), stream, { end: false })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error
  }
}

/** Under another name until it is whole. Readable by its owner alone. */
export async function writeToFile(file: string, pieces: AsyncIterable<string>): Promise<void> {
  const unfinished = `${file}.part`
  try {
    await pipeline(Readable.from(pieces), createWriteStream(unfinished, { mode: 0o600 }))
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be written (${(error as Error).message}).`)
  }
}

/** `lines`: one JSON value a line. `array`: one JSON value in all, written as it comes. */
export type JsonForm = 'lines' | 'array'

export async function* asJson(entries: AsyncIterable<unknown>, form: JsonForm): AsyncGenerator<string> {
  let count = 0
  for await (const entry of entries) {
    const before = form === 'lines' ? '' : count === 0 ? '[' : ','
    count++
    yield `${before}${JSON.stringify(entry)}${form === 'lines' ? '\n' : ''}`
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
