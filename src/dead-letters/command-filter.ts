import { requireCompany } from '../companies/command.ts'
import { CommandFailed, type Input, type OptionSpec, text, UsageError } from '../console/command.ts'
import { nearest } from '../console/nearest.ts'
import { counted, type Moment, momentOf, rangeOf } from '../console/words.ts'
import {
  DEAD_STATUSES,
  type DeadLetter,
  type DeadLetterCursor,
  type DeadLetterFilter,
  type DeadLetterPage,
  type DeadStatus,
  listDeadLetterCodes,
  readClock,
} from '../outbox/dead-letters.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { bareAddress } from '../platform/text/addresses.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { maskEmail } from '../platform/text/masking.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { ERROR_CODES, vocabularyOf } from '../providers/errors/contract.ts'

export const FILTERS = ['company', 'code', 'status', 'since', 'until'] as const

export const FILTER_OPTIONS: Record<(typeof FILTERS)[number], OptionSpec> = {
  company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
  code: { type: 'string', value: 'CODE', help: "with this error code, the gateway's or the provider's" },
  status: { type: 'string', value: DEAD_STATUSES.join('|'), help: 'whose e-mail has this status' },
  since: { type: 'string', value: 'TIME|2h|7d', help: 'dead since that time, or not longer than that' },
  until: { type: 'string', value: 'TIME|2h|7d', help: 'dead before that time, or for longer than that' },
}

/** The filter as given, checked before the database is opened. */
export type GivenFilter = {
  company: string | undefined
  code: string | null
  status: DeadStatus | null
  since: Moment | null
  until: Moment | null
}

export function readFilter(values: Input['values']): GivenFilter {
  return {
    company: text(values, 'company'),
    code: codeOf(text(values, 'code')),
    status: statusOf(text(values, 'status')),
    since: momentOf(text(values, 'since'), '--since'),
    until: momentOf(text(values, 'until'), '--until'),
  }
}

/** The gateway's own codes are accepted in lower case as well. */
function codeOf(given: string | undefined): string | null {
  if (given === undefined) return null
  return vocabularyOf(given.toUpperCase()) === 'own' ? given.toUpperCase() : given
}

/** Relative times such as 2h use the database's clock, like the times that they are compared with. */
export async function filterOf(db: Database, given: GivenFilter): Promise<DeadLetterFilter> {
  const { code, status, since, until } = given
  const companyId = given.company === undefined ? null : (await requireCompany(db, given.company)).companyId
  if (code !== null) await requireKnownCode(db, code)
  const nowMs = Date.parse(await readClock(db.pool))
  return { companyId, code, status, ...rangeOf(since, until, nowMs) }
}

/** A misspelt code would match nothing and look like an empty dead letter queue. */
async function requireKnownCode(db: Database, code: string): Promise<void> {
  if (vocabularyOf(code) !== null) return
  const found = await listDeadLetterCodes(db.pool)
  const codes = found.flatMap(one => [one.code, one.providerCode]).filter(one => one !== null)
  if (codes.includes(code)) return
  const near = nearest(code, [...new Set([...codes, ...ERROR_CODES])], 3)
  const hint = near.length > 0 ? `; did you mean ${near.join(', ')}?` : '.'
  const present = [...new Set(found.flatMap(one => one.code ?? []))].slice(0, CODES_SHOWN)
  const list = present.length > 0 ? ` The dead letters have: ${present.join(', ')}.` : ''
  throw new CommandFailed(`There is no error code "${code}"${hint}${list}`, 'UNKNOWN_ERROR_CODE')
}

const CODES_SHOWN = 10

export function isFiltered(values: Input['values']): boolean {
  return FILTERS.some(name => values[name] !== undefined)
}

export const cursorText = ({ movedAt, outboxId }: DeadLetterCursor) => `${movedAt}_${outboxId}`

export function cursorOf(given: string | undefined): DeadLetterCursor | null {
  if (given === undefined) return null
  const [movedAt = '', outboxId = ''] = given.split('_')
  if (!rangeEndSchema.safeParse(movedAt).success || !isUuid(outboxId))
    throw new UsageError('--after must be the cursor at the end of the previous page')
  return { movedAt, outboxId }
}

function statusOf(given: string | undefined): DeadStatus | null {
  if (given === undefined) return null
  const status = DEAD_STATUSES.find(one => one === given.toUpperCase())
  if (!status) throw new UsageError(`--status must be ${DEAD_STATUSES.join(', ')}`)
  return status
}

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
