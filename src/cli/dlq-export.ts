import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type DeadLetter, type DeadLetterCursor, type DeadLetterFilter, listDeadLetters } from '../db/dead-letters.ts'
import type { Queryable } from '../db/pool.ts'
import { CommandFailed } from './command.ts'

const PAGE = 500

/** Page by page, so that any number of entries fits into memory. */
export async function* everyDeadLetter(
  db: Queryable,
  filter: DeadLetterFilter,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<DeadLetter> {
  let after: DeadLetterCursor | null = null
  let left = limit
  do {
    const page: Awaited<ReturnType<typeof listDeadLetters>> = await listDeadLetters(db, filter, {
      after,
      limit: Math.min(PAGE, left),
    })
    yield* page.entries
    left -= page.entries.length
    after = page.nextCursor
  } while (after !== null && left > 0)
}

/** `lines`: one JSON value a line. `array`: one JSON value in all, written as it comes. */
export type ExportForm = 'lines' | 'array'

async function* written(entries: AsyncIterable<DeadLetter>, form: ExportForm): AsyncGenerator<string> {
  let count = 0
  for await (const entry of entries) {
    const before = form === 'lines' ? '' : count === 0 ? '[' : ','
    count++
    yield `${before}${JSON.stringify(entry)}${form === 'lines' ? '\n' : ''}`
  }
  if (form === 'array') yield count === 0 ? '[]\n' : ']\n'
}

/** To standard output, as fast as the reader reads. A reader that has seen enough (`| head`) is no failure. */
export async function exportTo(stream: Writable, entries: AsyncIterable<DeadLetter>, form: ExportForm): Promise<void> {
  try {
    await pipeline(Readable.from(written(entries, form)), stream, { end: false })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error
  }
}

/** Under another name until it is whole. Readable by its owner alone: it holds addresses. Answers how many. */
export async function exportToFile(file: string, entries: AsyncIterable<DeadLetter>): Promise<number> {
  const unfinished = `${file}.part`
  let count = 0
  async function* counted() {
    for await (const entry of entries) {
      count++
      yield entry
    }
  }
  try {
    await pipeline(Readable.from(written(counted(), 'lines')), createWriteStream(unfinished, { mode: 0o600 }))
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be written (${(error as Error).message}).`)
  }
  return count
}
