import { bareAddress } from '../contracts/addresses.ts'
import { maskEmail } from '../contracts/masking.ts'
import type { DeadLetter, DeadLetterPage } from '../db/outbox/dead-letters.ts'
import { cursorText } from './dlq-filter.ts'
import { counted } from './plural.ts'

const REASON_MAX = 100

/** One line per entry; the last line is the cursor of the next page. */
export function pageLines({ entries, nextCursor }: DeadLetterPage, filtered: boolean): string[] {
  if (entries.length === 0) return [filtered ? 'No dead letters match this filter.' : 'No dead letters.']
  return [...entries.map(inList), ...(nextCursor ? [`--after ${cursorText(nextCursor)}`] : [])]
}

/** Number of entries that a dry run lists. */
export const DRY_RUN_ENTRIES = 10

/** The first entries of a dry run, in the order in which they would be processed. */
export function dryRunLines(first: DeadLetter[], all: number): string[] {
  return [...first.map(inList), ...(all > first.length ? [`… and ${all - first.length} more`] : [])]
}

function inList(entry: DeadLetter): string {
  const reason = printable(entry.lastFailureReason)
  return [
    entry.movedToDLQAt,
    entry.outboxId,
    printable(entry.companyName),
    entry.status ?? 'GONE',
    codesOf(entry),
    counted(entry.failedAttempts, 'attempt'),
    reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason,
  ].join('  ')
}

/** With masked addresses, because others may see the screen; `--json` prints the whole entry. */
export function entryLines(entry: DeadLetter): string[] {
  const { originalData, retryHistory = [] } = entry
  return [
    `${entry.status ?? 'GONE'}  ${entry.outboxId}  company ${printable(entry.companyName)} (${entry.companyId})`,
    `Enqueued ${entry.enqueuedAt}, moved ${entry.movedToDLQAt}, attempts ${entry.failedAttempts}`,
    `Failed ${entry.lastFailureTimestamp}  ${codesOf(entry)}  ${printable(entry.lastFailureReason)}`,
    ...retryHistory.map(
      one => `  attempt ${one.attempt}  ${one.timestamp}  ${printable(one.error)}${bracketed(one.providerCode)}`,
    ),
    ...dataLines(originalData),
    replayLine(entry),
  ]
}

/** `SES_MESSAGE_REJECTED (MessageRejected)`: the gateway's code and the provider's. */
const codesOf = ({ lastFailureCode, providerCode }: DeadLetter) =>
  `${printable(lastFailureCode ?? '-')}${bracketed(providerCode)}`

const bracketed = (word: string | null | undefined) => (word ? ` (${printable(word)})` : '')

const ADDRESSES = ['from', 'to', 'cc', 'bcc']
const FIELDS = [...ADDRESSES, 'subject', 'templateType', 'tags', 'priority', 'requestId', 'externalId']

function dataLines(data: DeadLetter['originalData']): string[] {
  return FIELDS.flatMap(name => {
    const words = [data[name] ?? []].flat().map(String)
    const shown = ADDRESSES.includes(name) ? words.map(word => maskEmail(bareAddress(word))) : words
    return shown.length > 0 ? [`${name}: ${printable(shown.join(', '))}`] : []
  })
}

function replayLine({ outboxId, replayable, payloadPurged, status }: DeadLetter): string {
  if (replayable) return `Replay it with: email-gateway dlq replay ${outboxId}`
  if (payloadPurged) return 'It cannot be replayed: its payload was purged.'
  if (status === 'REJECTED' || status === 'FAILED' || status === 'DLQ')
    return 'It cannot be replayed: its content is gone.'
  return `It cannot be replayed: ${status ? `the e-mail is ${status} by now.` : 'the e-mail is gone.'}`
}

/** Error texts come from providers and may contain terminal escape sequences. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}
