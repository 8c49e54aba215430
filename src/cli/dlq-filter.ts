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
import { requireCompany } from './company.ts'
import { type Moment, momentOf, rangeOf } from './moment.ts'
import { nearest } from './nearest.ts'

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
    throw new UsageError('--after must be the cursor at the end of the previous page')
  return { movedAt, outboxId }
}

function statusOf(given: string | undefined): DeadStatus | null {
  if (given === undefined) return null
  const status = DEAD_STATUSES.find(one => one === given.toUpperCase())
  if (!status) throw new UsageError(`--status must be ${DEAD_STATUSES.join(', ')}`)
  return status
}
