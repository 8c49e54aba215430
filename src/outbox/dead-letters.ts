import { exactly, fragment, type Queryable, run, runUnprepared, sql } from '../platform/postgres/query.ts'
import type { GatewayErrorCode } from '../providers/errors/contract.ts'
import { EMAIL_JOB_RETRY_CONFIG } from '../settings/retry.ts'
import type { DLQEntry } from './dlq-entry.ts'
import { LOCK_EXISTING_READY_ROW } from './sql.ts'
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
const BEFORE_ALL: DeadLetterCursor = {
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
const MATCHES = `d.moved_at >= coalesce($4::timestamptz, '-infinity') and d.moved_at <= coalesce($5::timestamptz, 'infinity')
  and ($1::uuid is null or d.company_id = $1) and ($2::text is null or d.last_failure_code = $2 or d.provider_code = $2)
  and ($3::text is null or $3 = (select o.status from email_outbox o where o.outbox_id = d.outbox_id))`

const filterValues = ({ companyId, code, status, since, until }: DeadLetterFilter) => [
  companyId,
  code,
  status,
  since,
  until,
]

/** Whether the provider took it was never learnt: sent again, it may arrive twice. */
export const OUTCOME_UNKNOWN = 'SEND_OUTCOME_UNKNOWN' satisfies GatewayErrorCode

/** Beside MATCHES: many at once must not invite duplicates that nobody asked for, so these have to be named by their code. */
const MEANT_FOR_REPLAY = `(coalesce($2 = '${OUTCOME_UNKNOWN}', false) or d.last_failure_code is distinct from '${OUTCOME_UNKNOWN}')`

/** It can be sent: there is a part of a message, or what a template is filled with. */
export const HAS_CONTENT = fragment`coalesce((select c.html is not null or c.text is not null or c.variables is not null
  from email_content c where c.outbox_id = o.outbox_id), false)`

/** Not what the provider reported as delivered after all: that is not sent again. */
const IS_DEAD = `o.status in (${DEAD_STATUSES.map(status => `'${status}'`).join(', ')})`

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
const DEAD_WITH_EMAIL = `select ${ENTRY} from ${withEmail('dead_letters')}`

async function readEntries(db: Queryable, name: string, sql: string, values: unknown[]): Promise<DeadLetter[]> {
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

type DeadLetterCode = { code: string | null; providerCode: string | null; entries: number }

/** The error codes that dead letters have, the most frequent first. */
export async function listDeadLetterCodes(db: Queryable): Promise<DeadLetterCode[]> {
  return sql<DeadLetterCode>(db, 'list-dead-letter-codes')`
    select last_failure_code as code, provider_code, count(*)::int as entries from dead_letters
     group by 1, 2 order by 3 desc, 1, 2`
}

type DeadLetterCount = { all: number; replayable: number; payloadPurged: number; outcomeUnknown: number }

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

export type NamedPurge = { outboxId: string; outcome: 'purged' | 'not-found' | 'busy' }

/** Each by its id. The e-mail keeps its row and its status, and can no longer be replayed. Never waits: what somebody holds at this moment is busy. */
export async function purgeByIds(db: Queryable, outboxIds: string[]): Promise<NamedPurge[]> {
  return run<NamedPurge>(
    db,
    'purge-by-ids',
    `with picked as materialized (
       select d.outbox_id from dead_letters d where d.outbox_id = any($1::uuid[]) order by d.outbox_id for update skip locked
     ), purged as (
       delete from dead_letters d using picked where d.outbox_id = picked.outbox_id returning d.outbox_id
     )
     select asked.outbox_id as "outboxId", case when purged.outbox_id is not null then 'purged'
       when d.outbox_id is null then 'not-found' else 'busy' end as outcome
     from unnest($1::uuid[]) as asked(outbox_id) left join purged using (outbox_id) left join dead_letters d using (outbox_id)`,
    [outboxIds],
  )
}

/** Payloads of entries older than that go, what is known about the failure stays. Answers how many were removed. */
export async function purgeOldPayloads(db: Queryable, days: number, batchSize = 500): Promise<number> {
  let purged = 0
  for (;;) {
    const batch = await purgeSomePayloads(db, days, batchSize)
    purged += batch
    if (batch < batchSize) return purged
  }
}

/** original_data goes with the content, under the entry's lock: a replay that comes second finds it gone. */
async function purgeSomePayloads(db: Queryable, days: number, limit: number): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'purge-old-payloads',
    `with old as materialized (
       select d.outbox_id from dead_letters d
       where d.original_data is not null and d.moved_at < now() - $1 * interval '1 day'
       order by d.moved_at, d.outbox_id limit $2 for update skip locked
     ), emptied as (
       update dead_letters d set original_data = null from old where d.outbox_id = old.outbox_id returning d.outbox_id
     ), put_content as (
       update email_content c set html = null, text = null, reply_to = null, headers = null, variables = null
       from emptied where c.outbox_id = emptied.outbox_id
     ), unattached as (
       delete from email_attachments f using emptied where f.outbox_id = emptied.outbox_id
     )
     select count(*)::int as count from emptied`,
    [days, limit],
  )
  return row!.count
}

export type DeadLetterUse = 'replay' | 'purge'

const MEANT: Record<DeadLetterUse, string> = { replay: MEANT_FOR_REPLAY, purge: 'true' }

/** How many a walk over this filter meets. Reads dead_letters alone, unless the filter names a status. */
export async function countWalk(db: Queryable, filter: DeadLetterFilter, use: DeadLetterUse): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    `count-walk-to-${use}`,
    `select count(*)::int as count from dead_letters d where ${MATCHES} and ${MEANT[use]}`,
    filterValues(filter),
  )
  return row!.count
}

/** The next entries of the walk, oldest first, with or without a payload. */
export async function walkDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { use, after, limit }: { use: DeadLetterUse; after: DeadLetterCursor | undefined; limit: number },
): Promise<DeadLetterCursor[]> {
  const { movedAt, outboxId } = after ?? BEFORE_ALL
  return run<DeadLetterCursor>(
    db,
    `walk-dead-letters-to-${use}`,
    `select ${exactly('d.moved_at')} as "movedAt", d.outbox_id as "outboxId" from dead_letters d
     where ${MATCHES} and ${MEANT[use]} and (d.moved_at, d.outbox_id) > ($6::timestamptz, $7::uuid)
     order by d.moved_at, d.outbox_id limit $8`,
    [...filterValues(filter), movedAt, outboxId, limit],
  )
}

const SUPPRESSED = 'RECIPIENT_SUPPRESSED'

export type NamedReplay = {
  outboxId: string
  /** busy: somebody holds it at this moment; asking again tells. */
  outcome: 'replayed' | 'payload-purged' | 'not-found' | 'busy'
  /** Null: there is no such e-mail. */
  status: EmailStatus | null
}

/** What a dry run tells: busy ones are not looked for. */
type CheckedReplay = NamedReplay & { outcome: Exclude<NamedReplay['outcome'], 'busy'> }

/** What has an entry; what has expired, or was suppressed before it was sent, has none. */
export const MAY_BE_REPLAYED = fragment`(o.status = 'EXPIRED' or (o.status = 'REJECTED' and o.error_code = '${SUPPRESSED}') or (${IS_DEAD} and d.outbox_id is not null))`

export const HAS_PAYLOAD = fragment`((d.outbox_id is null or d.original_data is not null) and ${HAS_CONTENT})`

/**
 * From the locked e-mails to PENDING, all or nothing. The e-mail's row is locked first, as everywhere. Who deletes the entry
 * replays it: one that was replayed, purged or emptied since our snapshot is not there to be deleted. Arrays instead of joins:
 * see MATCHES.
 */
const REPLAY = `
with picked as materialized (
  select o.outbox_id, o.status, o.attempts, coalesce(d.last_failure_code, o.error_code) as code,
    coalesce(d.last_failure_reason, o.failure_reason) as reason
  from email_outbox o left join dead_letters d on d.outbox_id = o.outbox_id
  where o.outbox_id = any($1::uuid[]) and ${MAY_BE_REPLAYED} and ${HAS_PAYLOAD} for update of o skip locked
), taken as (
  delete from dead_letters d where d.outbox_id = any(array(select outbox_id from picked)) and d.original_data is not null
  returning d.outbox_id
), replayed as (
  update email_outbox o set status = 'PENDING', attempts = 0, next_attempt_at = null, expires_at = now() + interval '24 hours',
    attempt_id = null, started_at = null, provider = null, message_id = null, duration_ms = null, sent_at = null,
    error_code = null, provider_code = null, error_category = null, failure_reason = null, failed_at = null
  from picked f
  where o.outbox_id = any(array(select outbox_id from picked)) and o.outbox_id = f.outbox_id and o.status = f.status
    and (f.status = 'EXPIRED' or f.code = '${SUPPRESSED}' or f.outbox_id in (select outbox_id from taken))
  returning o.outbox_id, o.company_id, o.priority, f.status, f.attempts, f.code, f.reason
), put_recipients as (
  -- Whoever was suppressed when it was to be sent gets another chance: the list is asked again before the attempt.
  update email_recipients r set status = 'PENDING', suppressed = false from replayed f
  where r.outbox_id = any(array(select outbox_id from replayed)) and r.outbox_id = f.outbox_id
    and (not r.suppressed or (f.code = '${SUPPRESSED}' and r.address is not null))
), put_events as (
  insert into email_events (outbox_id, company_id, type, metadata)
  select outbox_id, company_id, 'REPLAYED', jsonb_build_object('replayedBy', $2::text, 'previousStatus', status,
    'previousFailure', jsonb_build_object('code', code, 'reason', reason), 'previousAttempts', attempts)
  from replayed
), put_ready as (
  insert into email_ready (company_id, priority, outbox_id) select company_id, priority, outbox_id from replayed
  ${LOCK_EXISTING_READY_ROW}
)
select asked.outbox_id as "outboxId", case when replayed.outbox_id is not null then 'replayed'
    when ${MAY_BE_REPLAYED} is not true then 'not-found' when not ${HAS_PAYLOAD} then 'payload-purged' else 'busy' end as outcome,
  case when replayed.outbox_id is not null then 'PENDING' else o.status end as status
from unnest($1::uuid[]) as asked(outbox_id)
left join email_outbox o on o.outbox_id = any($1::uuid[]) and o.outbox_id = asked.outbox_id
left join dead_letters d on d.outbox_id = asked.outbox_id left join replayed on replayed.outbox_id = asked.outbox_id`

export async function replayByIds(db: Queryable, outboxIds: string[], by: string): Promise<NamedReplay[]> {
  return run<NamedReplay>(db, 'replay-by-ids', REPLAY, [outboxIds, by])
}

const PAGE = 500

/** Reads page by page: the export may be larger than memory. */
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

/** Those that a replay or a purge would take first: the oldest. */
export async function firstDeadLetters(
  db: Queryable,
  filter: DeadLetterFilter,
  { use, limit }: { use: 'replay' | 'purge'; limit: number },
): Promise<DeadLetter[]> {
  const taken =
    use === 'purge' ? '' : `and ${MEANT_FOR_REPLAY} and d.original_data is not null and ${IS_DEAD} and ${HAS_CONTENT}`
  return readEntries(
    db,
    `first-dead-letters-to-${use}`,
    `${DEAD_WITH_EMAIL} where ${MATCHES} ${taken} order by d.moved_at, d.outbox_id limit $6`,
    [...filterValues(filter), limit],
  )
}

/** What a replay of these would say of each, without changing or locking anything. */
export async function checkByIds(db: Queryable, outboxIds: string[]): Promise<CheckedReplay[]> {
  return run<CheckedReplay>(
    db,
    'check-replay-by-ids',
    `select asked.outbox_id as "outboxId", case when ${MAY_BE_REPLAYED} is not true then 'not-found'
         when not ${HAS_PAYLOAD} then 'payload-purged' else 'replayed' end as outcome, o.status
     from unnest($1::uuid[]) as asked(outbox_id)
     left join email_outbox o on o.outbox_id = any($1::uuid[]) and o.outbox_id = asked.outbox_id
     left join dead_letters d on d.outbox_id = asked.outbox_id`,
    [outboxIds],
  )
}
