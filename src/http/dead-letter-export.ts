import { csvLine } from '../contracts/csv.ts'
import type { DeadLetter } from '../db/outbox/dead-letters.ts'

const COLUMNS: [name: string, (entry: DeadLetter) => string | number | null | undefined][] = [
  ['outbox_id', entry => entry.outboxId],
  ['company_id', entry => entry.companyId],
  ['company', entry => entry.companyName],
  ['status', entry => entry.status],
  ['code', entry => entry.lastFailureCode],
  ['provider_code', entry => entry.providerCode],
  ['reason', entry => entry.lastFailureReason],
  ['attempts', entry => entry.failedAttempts],
  ['enqueued_at', entry => entry.enqueuedAt],
  ['moved_at', entry => entry.movedToDLQAt],
  ['replayable', entry => (entry.replayable ? 'yes' : 'no')],
  ['from', entry => textOf(entry.originalData.from)],
  ['to', entry => textOf(entry.originalData.to)],
  ['subject', entry => textOf(entry.originalData.subject)],
  ['external_id', entry => textOf(entry.originalData.externalId)],
  ['template', entry => textOf(entry.originalData.templateType)],
  ['tags', entry => textOf(entry.originalData.tags)],
]

const textOf = (value: unknown) => [value ?? []].flat().map(String).join(' ')

const ENTRIES_AT_ONCE = 100

export async function* asCsv(entries: AsyncIterable<DeadLetter>): AsyncGenerator<string> {
  yield* inPieces(
    entries,
    entry => csvLine(COLUMNS.map(([, read]) => read(entry))),
    csvLine(COLUMNS.map(([name]) => name)),
  )
}

export async function* asJsonLines(entries: AsyncIterable<DeadLetter>): AsyncGenerator<string> {
  yield* inPieces(entries, entry => `${JSON.stringify(entry)}\n`, '')
}

/** The first piece is there even without an entry. */
async function* inPieces(entries: AsyncIterable<DeadLetter>, line: (entry: DeadLetter) => string, head: string) {
  let text = head
  let count = 0
  for await (const entry of entries) {
    text += line(entry)
    if (++count % ENTRIES_AT_ONCE !== 0) continue
    yield text
    text = ''
  }
  yield text
}
