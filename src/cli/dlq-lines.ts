import { maskEmail } from '../contracts/masking.ts'
import type { DeadLetter, DeadLetterPage } from '../db/outbox/dead-letters.ts'
import { cursorText } from './dlq-filter.ts'
import { counted } from './plural.ts'

const REASON_MAX = 100

/** One line each, and the cursor of the next page as the last one. */
export function pageLines({ entries, nextCursor }: DeadLetterPage): string[] {
  if (entries.length === 0) return ['No dead letters.']
  return [...entries.map(inList), ...(nextCursor ? [`--after ${cursorText(nextCursor)}`] : [])]
}

/** How many of them a dry run shows. */
export const FIRST_SHOWN = 10

/** The first ones of a dry run, oldest first as they would be taken. */
export function firstLines(first: DeadLetter[], all: number): string[] {
  return [...first.map(inList), ...(all > first.length ? [`… and ${all - first.length} more`] : [])]
}

function inList(entry: DeadLetter): string {
  const reason = plain(entry.lastFailureReason)
  return [
    entry.movedToDLQAt,
    entry.outboxId,
    plain(entry.companyName),
    entry.status ?? 'GONE',
    codesOf(entry),
    counted(entry.failedAttempts, 'attempt'),
    reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason,
  ].join('  ')
}

/** For a screen, which others may see: addresses masked. `--json` has the entry in full. */
export function entryLines(entry: DeadLetter): string[] {
  const { originalData, retryHistory = [] } = entry
  return [
    `${entry.status ?? 'GONE'}  ${entry.outboxId}  company ${plain(entry.companyName)} (${entry.companyId})`,
    `Enqueued ${entry.enqueuedAt}, moved ${entry.movedToDLQAt}, attempts ${entry.failedAttempts}`,
    `Failed ${entry.lastFailureTimestamp}  ${codesOf(entry)}  ${plain(entry.lastFailureReason)}`,
    ...retryHistory.map(
      one => `  attempt ${one.attempt}  ${one.timestamp}  ${plain(one.error)}${bracketed(one.providerCode)}`,
    ),
    ...dataLines(originalData),
    replayLine(entry),
  ]
}

/** `SES_MESSAGE_REJECTED (MessageRejected)`: ours, and the provider's. */
const codesOf = ({ lastFailureCode, providerCode }: DeadLetter) =>
  `${plain(lastFailureCode ?? '-')}${bracketed(providerCode)}`

const bracketed = (word: string | null | undefined) => (word ? ` (${plain(word)})` : '')

const ADDRESSES = ['from', 'to', 'cc', 'bcc']
const FIELDS = [...ADDRESSES, 'subject', 'templateType', 'tags', 'priority', 'requestId', 'externalId']

function dataLines(data: DeadLetter['originalData']): string[] {
  return FIELDS.flatMap(name => {
    const words = [data[name] ?? []].flat().map(String)
    const shown = ADDRESSES.includes(name) ? words.map(maskEmail) : words
    return shown.length > 0 ? [`${name}: ${plain(shown.join(', '))}`] : []
  })
}

function replayLine({ outboxId, replayable, payloadPurged, status }: DeadLetter): string {
  if (replayable) return `Replay it with: email-gateway dlq replay ${outboxId}`
  if (payloadPurged) return 'It cannot be replayed: its payload was purged.'
  if (status === 'REJECTED' || status === 'FAILED' || status === 'DLQ')
    return 'It cannot be replayed: its content is gone.'
  return `It cannot be replayed: ${status ? `the e-mail is ${status} by now.` : 'the e-mail is gone.'}`
}

/** What a provider answered must not write on the operator's terminal. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}
