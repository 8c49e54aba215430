import { exactly, fragment, type Queryable, run, runUnprepared, sql } from '../platform/postgres/query.ts'
import type { GatewayErrorCode } from '../providers/errors/contract.ts'
import { EMAIL_JOB_RETRY_CONFIG } from '../settings/retry.ts'
import type { DLQEntry } from './dlq-entry.ts'
import type { EmailStatus } from './states.ts'

/** What every entry of the queue has by its own settlement. An expired e-mail has none, and is replayed by its id. */
export const DEAD_STATUSES = ['REJECTED', 'FAILED', 'DLQ'] as const satisfies readonly EmailStatus[]
export type DeadStatus = (typeof DEAD_STATUSES)[number]

/** Null: any. The times bound moved_at, both ends included, and are texts so that no microsecond is lost on the way. */
export type DeadLetterFilter = {
  companyId: string | null
  /** The gateway's code, or the provider's word. */
  code: string | null
  status: DeadStatus | null
  since: string | null
  until: string | null
}

/** A place in the list: the entry that came last. */
export type DeadLetterCursor = { movedAt: string; outboxId: string }
export const BEFORE_ALL: DeadLetterCursor = {
  movedAt: '-infinity',
  outboxId: '00000000-0000-0000-0000-000000000000',
}

export type DeadLetter = DLQEntry & {
  companyName: string
  /** Null: retention has dropped the e-mail, and only this entry remembers it. */
  status: EmailStatus | null
  payloadPurged: boolean
  replayable: boolean
}

export type DeadLetterPage = { entries: DeadLetter[]; nextCursor: DeadLetterCursor | null }

/**
 * Parameters 1–5, of dead_letters d alone. The times have no `or`, so that one plan walks the index from bound to bound whatever
 * the filter. What hangs on the e-mail is looked up entry by entry, here and below: as joins, the plans for a table
 * without statistics read every partition for each page (replaying 10 000 of 100 000: 12 s instead of 2 s).
 */
export const MATCHES = `d.moved_at >= coalesce($4::timestamptz, '-infinity') and d.moved_at <= coalesce($5::timestamptz, 'infinity')
  and ($1::uuid is null or d.company_id = $1) and ($2::text is null or d.last_failure_code = $2 or d.provider_code = $2)
  and ($3::text is null or $3 = (select o.status from email_outbox o where o.outbox_id = d.outbox_id))`

export const filterValues = ({ companyId, code, status, since, until }: DeadLetterFilter) => [
  companyId,
  code,
  status,
  since,
  until,
]

/** Whether the provider took it was never learnt: sent again, it may arrive twice. */
export const OUTCOME_UNKNOWN = 'SEND_OUTCOME_UNKNOWN' satisfies GatewayErrorCode

/** Beside MATCHES: many at once must not invite duplicates that nobody asked for, so these have to be named by their code. */
export const MEANT_FOR_REPLAY = `(coalesce($2 = '${OUTCOME_UNKNOWN}', false) or d.last_failure_code is distinct from '${OUTCOME_UNKNOWN}')`

/** It can be sent: there is a part of a message, or what a template is filled with. */
export const HAS_CONTENT = fragment`coalesce((select c.html is not null or c.text is not null or c.variables is not null
  from email_content c where c.outbox_id = o.outbox_id), false)`

/** Not what the provider reported as delivered after all: that is not sent again. */
export const IS_DEAD = `o.status in (${DEAD_STATUSES.map(status => `'${status}'`).join(', ')})`

const addressesOf = (kind: string) => `coalesce((select jsonb_agg(coalesce(r.address, '(erased)') order by r.ordinal)
  from email_recipients r where r.outbox_id = d.outbox_id and r.kind = '${kind}' and not r.suppressed), '[]')`

const ENTRY = `d.outbox_id, d.company_id, coalesce(c.name, d.company_id::text) as company_name, d.failed_attempts, d.last_failure_reason, d.last_failure_code, d.provider_code,
  d.last_failure_at, d.retry_history, d.enqueued_at, d.moved_at, ${exactly('d.moved_at')} as moved_at_text, o.status,
  case when d.original_data is not null then d.original_data || jsonb_build_object('from', o.from_address, 'to', ${addressesOf('to')},
    'cc', ${addressesOf('cc')}, 'bcc', ${addressesOf('bcc')}, 'priority', o.priority) end as original_data,
  ${IS_DEAD} and ${HAS_CONTENT} as sendable`

const withEmail = (entries: string) => `${entries} d left join companies c on c.company_id = d.company_id
  left join lateral (select * from email_outbox o where o.outbox_id = d.outbox_id limit 1) o on true`

type Row = {
  outboxId: string
  companyId: string
  companyName: string
  failedAttempts: number
  lastFailureReason: string
  lastFailureCode: string | null
  providerCode: string | null
  lastFailureAt: Date
  retryHistory: {
    attempt: number
    timestamp: string
    error: string | null
    providerCode?: string | null
    message?: string | null
  }[]
  enqueuedAt: Date
  movedAt: Date
  movedAtText: string
  status: EmailStatus | null
  originalData: Record<string, unknown> | null
  sendable: boolean | null
}

/** Entries as `select` of the table joined to what is known of the e-mail: `dead_letters d`, `email_outbox o`, `companies c`. */
export const DEAD_WITH_EMAIL = `select ${ENTRY} from ${withEmail('dead_letters')}`

export async function readEntries(db: Queryable, name: string, sql: string, values: unknown[]): Promise<DeadLetter[]> {
  return (await run<Row>(db, name, sql, values)).map(toEntry)
}

const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Newest first. What arrives between two pages comes before the first, so no page repeats or misses one. Planned for its filter: a rare
 * code is found by its index, a frequent one along the times.
 */
export async function listDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { after = null, limit }: { after?: DeadLetterCursor | null; limit: number },
): Promise<DeadLetterPage> {
  const rows = await runUnprepared<Row>(
    db,
    `with page as materialized (
       select d.* from dead_letters d where ${MATCHES} and (d.moved_at, d.outbox_id) < ($6::timestamptz, $7::uuid)
       order by d.moved_at desc, d.outbox_id desc limit $8)
     select ${ENTRY} from ${withEmail('page')} order by d.moved_at desc, d.outbox_id desc`,
    [...filterValues(filter), after?.movedAt ?? 'infinity', after?.outboxId ?? HIGHEST_ID, limit + 1],
  )
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    entries: shown.map(toEntry),
    nextCursor: last ? { movedAt: last.movedAtText, outboxId: last.outboxId } : null,
  }
}

export async function findDeadLetter(db: Queryable, outboxId: string): Promise<DeadLetter | null> {
  const [entry] = await readEntries(db, 'find-dead-letter', `${DEAD_WITH_EMAIL} where d.outbox_id = $1`, [outboxId])
  return entry ?? null
}

export type DeadLetterCode = { code: string | null; providerCode: string | null; entries: number }

/** The error codes that dead letters have, the most frequent first. */
export async function listDeadLetterCodes(db: Queryable): Promise<DeadLetterCode[]> {
  return sql<DeadLetterCode>(db, 'list-dead-letter-codes')`
    select last_failure_code as code, provider_code, count(*)::int as entries from dead_letters
     group by 1, 2 order by 3 desc, 1, 2`
}

export type DeadLetterCount = { all: number; replayable: number; payloadPurged: number; outcomeUnknown: number }

/**
 * replayable: what a replay with this filter takes. payloadPurged: dead, and nothing left to send again. outcomeUnknown: could
 * be sent again, and is left out because the filter does not name its code.
 */
export async function countDeadLetters(db: Queryable, filter: DeadLetterFilter): Promise<DeadLetterCount> {
  const [row] = await run<DeadLetterCount>(
    db,
    'count-dead-letters',
    `select count(*)::int as "all", count(*) filter (where dead and sendable and meant)::int as replayable,
       count(*) filter (where dead and not sendable)::int as "payloadPurged",
       count(*) filter (where dead and sendable and not meant)::int as "outcomeUnknown"
     from (select coalesce(${IS_DEAD}, false) as dead, ${MEANT_FOR_REPLAY} as meant, d.original_data is not null and ${HAS_CONTENT} as sendable
       from ${withEmail('dead_letters')} where ${MATCHES}) t`,
    filterValues(filter),
  )
  return row!
}

/** The clock that writes moved_at, to the microsecond. */
export async function readClock(db: Queryable): Promise<string> {
  const [row] = await sql<{ now: string }>(db, 'read-clock')`select ${exactly('clock_timestamp()')} as now`
  return row!.now
}

function toEntry(row: Row): DeadLetter {
  return {
    jobId: row.outboxId,
    outboxId: row.outboxId,
    companyId: row.companyId,
    companyName: row.companyName,
    status: row.status,
    originalData: row.originalData ?? {},
    failedAttempts: row.failedAttempts,
    lastFailureReason: row.lastFailureReason,
    ...(row.lastFailureCode !== null && { lastFailureCode: row.lastFailureCode }),
    ...(row.providerCode !== null && { providerCode: row.providerCode }),
    lastFailureTimestamp: row.lastFailureAt.toISOString(),
    enqueuedAt: row.enqueuedAt.toISOString(),
    movedToDLQAt: row.movedAt.toISOString(),
    ttl: EMAIL_JOB_RETRY_CONFIG.DLQ_TTL_MS,
    retryHistory: row.retryHistory.map(one => ({
      ...one,
      timestamp: new Date(one.timestamp).toISOString(),
      error: one.error ?? one.message ?? 'UNKNOWN',
    })),
    payloadPurged: row.originalData === null,
    replayable: row.originalData !== null && row.sendable === true,
  }
}

/** What a dead letter keeps of the e-mail, as long as it keeps it: neither content nor addresses. */
export const originalData = (row: string) =>
  fragment`jsonb_build_object('outboxId', ${row}.outbox_id, 'companyId', ${row}.company_id, 'requestId', ${row}.request_id,
     'externalId', ${row}.external_id, 'subject', ${row}.subject, 'templateType', ${row}.template_type, 'tags', ${row}.tags)`
