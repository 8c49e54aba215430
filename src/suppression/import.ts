import { closeSync, createReadStream, mkdtempSync, openSync, readSync, rmdirSync, unlinkSync, writeSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { listCompanies } from '../companies/companies.ts'
import { CommandFailed } from '../console/command.ts'
import type { Progress } from '../console/output.ts'
import { counted } from '../console/words.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { CsvProblem, type CsvShape, type ImportedEntry, readHeader, readLine } from './csv.ts'
import { addSuppressions, type SuppressionEntry } from './list.ts'
import type { SuppressionPolicy } from './rules.ts'

/** Entries per statement. Larger statements are not faster and hold their locks longer. */
const CHUNK = 5_000
/** The next chunk is prepared while Postgres writes one. */
const IN_FLIGHT = 2
const PROBLEMS_SHOWN = 100

export type ImportOptions = {
  file: string
  /** Import nothing if any line is invalid. */
  strict: boolean
  performedBy: string
  justification: string
  /** For lines that name no company; null is the global list. */
  companyId: string | null
  policy: SuppressionPolicy
  progress: Progress
}

export type ImportSummary = {
  read: number
  added: number
  raised: number
  unchanged: number
  refused: number
  /** The first PROBLEMS_SHOWN, with their line numbers. */
  problems: { line: number; problem: string }[]
}

/**
 * Reads the whole file, then writes in the order of hashes: in the order of the file, every row would touch another page of every index
 * (a million rows beside other work took 108 s instead of 48 s). It can be run again after an interruption: existing entries are unchanged.
 */
export async function importSuppressions(db: Database, options: ImportOptions): Promise<ImportSummary> {
  const summary: ImportSummary = { read: 0, added: 0, raised: 0, unchanged: 0, refused: 0, problems: [] }
  const companies = await companyIds(db)
  const sorter = new HashSorter<SortedEntry>()
  try {
    await readInto(sorter, companies, options, summary)
    if (options.strict && summary.refused > 0) throw refusal(options.file, summary)
    await writeFrom(sorter, db, options, summary)
  } finally {
    sorter.close()
  }
  return summary
}

/** A line between reading and writing, without its hash. */
type SortedEntry = Pick<ImportedEntry, 'reason' | 'expiresAt'> & { companyId: string | null }

async function readInto(
  sorter: HashSorter<SortedEntry>,
  companies: Map<string, string>,
  options: ImportOptions,
  summary: ImportSummary,
): Promise<void> {
  for await (const { line, entry, problem } of linesOf(options.file)) {
    summary.read++
    const isUnknownCompany = entry && entry.company !== '' && !companies.has(entry.company)
    if (!entry || isUnknownCompany) addProblem(summary, line, problem ?? 'names a company that does not exist')
    else {
      const companyId = entry.company === '' ? options.companyId : companies.get(entry.company)!
      sorter.add(entry.emailHash, { reason: entry.reason, expiresAt: entry.expiresAt, companyId })
    }
  }
}

function addProblem(summary: ImportSummary, line: number, problem: string): void {
  summary.refused++
  if (summary.problems.length < PROBLEMS_SHOWN) summary.problems.push({ line, problem })
}

function refusal(file: string, { refused, problems }: ImportSummary): CommandFailed {
  const lines = problems.map(({ line, problem }) => `line ${line}: ${problem}`)
  return new CommandFailed(`${file} has ${counted(refused, 'bad line')}; nothing was imported.\n${lines.join('\n')}`)
}

async function writeFrom(
  sorter: HashSorter<SortedEntry>,
  db: Database,
  options: ImportOptions,
  summary: ImportSummary,
): Promise<void> {
  const writing = new Set<Promise<void>>()
  let written = 0
  async function write(entries: SuppressionEntry[]): Promise<void> {
    for (const { outcome } of await addSuppressions(db.pool, entries)) summary[outcome]++
    written += entries.length
    options.progress.show(written, sorter.size)
  }
  try {
    for (const chunk of sorter.chunks(CHUNK)) {
      const one = write(chunk.map(([emailHash, entry]) => toEntry(emailHash, entry, options)))
      writing.add(one)
      one.then(
        () => writing.delete(one),
        () => {},
      )
      if (writing.size >= IN_FLIGHT) await Promise.race(writing)
    }
    await Promise.all(writing)
  } finally {
    await Promise.allSettled(writing)
  }
}

function toEntry(emailHash: string, entry: SortedEntry, options: ImportOptions): SuppressionEntry {
  const { reason, expiresAt, companyId } = entry
  return {
    companyId,
    emailHash,
    reason,
    expiresInDays: expiresAt === null ? 0 : options.policy.ttlDays[reason],
    ...(expiresAt && { expiresAt }),
    metadata: {},
    performedBy: options.performedBy,
    justification: options.justification,
  }
}

async function companyIds(db: Database): Promise<Map<string, string>> {
  const companies = await listCompanies(db.pool)
  return new Map(
    companies.flatMap(({ companyId, name }) => [[name, companyId] as const, [companyId, companyId] as const]),
  )
}

type Line = { line: number; entry: ImportedEntry | null; problem: string | null }

async function* linesOf(file: string): AsyncGenerator<Line> {
  try {
    if (!(await stat(file)).isFile()) throw new CommandFailed(`${file} cannot be imported: it is not a file.`)
    const input = createReadStream(file, { highWaterMark: 1024 * 1024 })
    let shape: CsvShape | null = null
    let line = 0
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line++
      if (shape === null) shape = readHeader(text)
      else if (text.trim() !== '') yield { line, ...parsed(text, shape) }
    }
    if (shape === null) readHeader('')
  } catch (error) {
    if (error instanceof CsvProblem) throw new CommandFailed(`${file} cannot be imported: ${error.message}.`)
    if (!(error as { syscall?: string }).syscall) throw error
    throw new CommandFailed(`${file} cannot be read (${(error as Error).message}).`)
  }
}

function parsed(text: string, shape: CsvShape): Omit<Line, 'line'> {
  try {
    return { entry: readLine(text, shape), problem: null }
  } catch (error) {
    if (!(error instanceof CsvProblem)) throw error
    return { entry: null, problem: error.message }
  }
}

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
      for (const line of partLines(part).sort()) {
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

function partLines(part: Part): string[] {
  flush(part)
  const content = Buffer.alloc(part.bytes)
  for (let read = 0; read < content.length; ) read += readSync(part.handle, content, read, content.length - read, read)
  return content.toString('utf8').split('\n').slice(0, -1)
}
