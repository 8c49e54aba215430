import { rangeEndSchema } from '../contracts/instant.ts'
import { ERROR_CODES, vocabularyOf } from '../contracts/provider-errors/codes.ts'
import { isUuid } from '../contracts/uuid.ts'
import {
  DEAD_STATUSES,
  type DeadLetterCursor,
  type DeadLetterFilter,
  type DeadStatus,
  listDeadLetterCodes,
  readClock,
} from '../db/outbox/dead-letters.ts'
import type { Database } from '../db/pool.ts'
import { CommandFailed, type Input, type OptionSpec, text, UsageError } from './command.ts'
import { known } from './company.ts'
import { instantOf, type Moment, momentOf } from './moment.ts'
import { nearest } from './nearest.ts'

export const FILTERS = ['company', 'code', 'status', 'since', 'until'] as const

export const FILTER_OPTIONS: Record<(typeof FILTERS)[number], OptionSpec> = {
  company: { type: 'string', value: 'ID|NAME', help: 'of this company' },
  code: { type: 'string', value: 'CODE', help: "with this error code, the gateway's or the provider's" },
  status: { type: 'string', value: DEAD_STATUSES.join('|'), help: 'whose e-mail has this status' },
  since: { type: 'string', value: 'TIME|2h|7d', help: 'dead since that time, or for less than that long' },
  until: { type: 'string', value: 'TIME|2h|7d', help: 'dead before that time, or for longer than that' },
}

/** Read before the database is opened: what was typed wrongly costs nothing. */
export type AskedFilter = {
  company: string | undefined
  code: string | null
  status: DeadStatus | null
  since: Moment | null
  until: Moment | null
}

export function askedFilter(values: Input['values']): AskedFilter {
  return {
    company: text(values, 'company'),
    code: codeOf(text(values, 'code')),
    status: statusOf(text(values, 'status')),
    since: momentOf(text(values, 'since'), '--since'),
    until: momentOf(text(values, 'until'), '--until'),
  }
}

/** The gateway's codes are found in small letters, too. */
function codeOf(given: string | undefined): string | null {
  if (given === undefined) return null
  return vocabularyOf(given.toUpperCase()) === 'own' ? given.toUpperCase() : given
}

/** "2h ago" is counted by the database's clock, which wrote the times it is compared with. */
export async function filterOf(db: Database, asked: AskedFilter): Promise<DeadLetterFilter> {
  const { code, status, since, until } = asked
  const companyId = asked.company === undefined ? null : (await known(db, asked.company)).companyId
  if (code !== null) await demandKnownCode(db, code)
  const nowMs = Date.parse(await readClock(db.pool))
  return { companyId, code, status, since: instantOf(since, nowMs), until: instantOf(until, nowMs) }
}

/** A filter whose code nobody has ever given an error matches nothing, and would look as if there were nothing. */
async function demandKnownCode(db: Database, code: string): Promise<void> {
  if (vocabularyOf(code) !== null) return
  const found = await listDeadLetterCodes(db.pool)
  const words = found.flatMap(one => [one.code, one.providerCode]).filter(word => word !== null)
  if (words.includes(code)) return
  const near = nearest(code, [...new Set([...words, ...ERROR_CODES])], 3)
  const hint = near.length > 0 ? `; did you mean ${near.join(', ')}?` : '.'
  const present = [...new Set(found.flatMap(one => one.code ?? []))].slice(0, CODES_SHOWN)
  const list = present.length > 0 ? ` The dead letters have: ${present.join(', ')}.` : ''
  throw new CommandFailed(`There is no error code "${code}"${hint}${list}`, 'UNKNOWN_ERROR_CODE')
}

const CODES_SHOWN = 10

export function isFiltered(values: Input['values']): boolean {
  return FILTERS.some(name => values[name] !== undefined)
}

export function limitOf(values: Input['values'], max: number): number | undefined {
  const given = text(values, 'limit')
  if (given === undefined) return undefined
  const limit = Number(given)
  if (!Number.isInteger(limit) || limit < 1 || limit > max)
    throw new UsageError(`--limit must be a whole number from 1 to ${max}`)
  return limit
}

export const cursorText = ({ movedAt, outboxId }: DeadLetterCursor) => `${movedAt}_${outboxId}`

export function cursorOf(given: string | undefined): DeadLetterCursor | null {
  if (given === undefined) return null
  const [movedAt = '', outboxId = ''] = given.split('_')
  if (!rangeEndSchema.safeParse(movedAt).success || !isUuid(outboxId))
    throw new UsageError('--after must be the cursor that the page before ended with')
  return { movedAt, outboxId }
}

function statusOf(given: string | undefined): DeadStatus | null {
  if (given === undefined) return null
  const status = DEAD_STATUSES.find(one => one === given.toUpperCase())
  if (!status) throw new UsageError(`--status must be ${DEAD_STATUSES.join(', ')}`)
  return status
}
