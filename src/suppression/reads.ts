import { countLastDay } from '../companies/statistics.ts'
import { exactly, fragment, iso, literal, type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { END, isActive, severity, TODAY } from './list.ts'
import { SUPPRESSION_REASONS, type SuppressionReason } from './rules.ts'
import type { PastSuppression, SuppressionAuditEntry, SuppressionRow, SuppressionStats } from './view.ts'

const COLUMNS = fragment`s.id, s.company_id, s.email_hash, s.reason, ${iso('s.added_at')} as "addedAt",
  ${iso('s.expires_at')} as "expiresAt", ${iso('s.updated_at')} as "updatedAt", s.metadata`

/** The more severe of the company's own and the global entry. companyId null: the global list only. */
export async function findBlocking(
  db: Queryable,
  emailHash: string,
  companyId: string | null,
): Promise<SuppressionRow | null> {
  const [row] = await sql<SuppressionRow>(db, 'find-blocking-suppression')`
    select ${COLUMNS} from suppression_list s
     where s.email_hash = ${emailHash} and (s.company_id is null or s.company_id = ${companyId}) and ${isActive('s')}
     order by ${severity('s.reason')} desc, ${END} desc limit 1`
  return row ?? null
}

/** The entries on all lists, the global one first. */
export async function findEntries(db: Queryable, emailHash: string): Promise<SuppressionRow[]> {
  return sql<SuppressionRow>(db, 'find-suppressions')`
    select ${COLUMNS} from suppression_list s where s.email_hash = ${emailHash} and ${isActive('s')}
     order by s.company_id nulls first limit 1000`
}

/** The ids of entries on one company's list, by hash. */
export async function findEntryIds(
  db: Queryable,
  emailHashes: string[],
  companyId: string,
): Promise<Map<string, string>> {
  const rows = await sql<{ emailHash: string; id: string }>(db, 'find-suppression-ids')`
    select s.email_hash, s.id from suppression_list s where s.email_hash = any(${emailHashes}) and s.company_id = ${companyId}`
  return new Map(rows.map(({ emailHash, id }) => [emailHash, id]))
}

const AUDIT_LIMIT = 100

/** The last 100 changes on one list, oldest first. */
export async function listAudit(
  db: Queryable,
  emailHash: string,
  companyId: string | null,
): Promise<SuppressionAuditEntry[]> {
  const rows = await sql<SuppressionAuditEntry & { justification: string | null }>(db, 'list-suppression-audit')`
    select action, performed_by, ${iso('performed_at')} as "performedAt", reason,
       metadata ->> 'justification' as justification
     from suppression_audit_log where email_hash = ${emailHash} and company_id is not distinct from ${companyId} order by id desc limit ${literal(AUDIT_LIMIT)}`
  return rows.reverse().map(({ justification, ...entry }) => (justification ? { ...entry, justification } : entry))
}

export const SUPPRESSION_SORTS = ['addedAt', 'expiresAt'] as const
export const SUPPRESSION_ORDERS = ['desc', 'asc'] as const
export type SuppressionOrder = {
  sort: (typeof SUPPRESSION_SORTS)[number]
  order: (typeof SUPPRESSION_ORDERS)[number]
}
const SORT_KEY: Record<SuppressionOrder['sort'], string> = { addedAt: 's.added_at', expiresAt: END.text }

/** Of the last entry on the previous page: its sort key to the microsecond, or infinity, and its id. */
export type SuppressionCursor = { key: string; id: string }

/** null: no filter. `list`: of a company, or the global one. `hash.prefix`: a whole hash or its beginning. */
export type SuppressionFilter = {
  reason: SuppressionReason | null
  list: { companyId: string | null } | null
  hash: { prefix: string } | null
  addedAfter: string | null
  addedBefore: string | null
  expiresAfter: string | null
  expiresBefore: string | null
  never: boolean
}

export type SuppressionPage = { entries: SuppressionRow[]; next: SuppressionCursor | null }

/**
 * Pages by key and id, so that an insert between two pages neither repeats nor hides an entry. Not prepared, so that Postgres plans
 * for the given filters.
 */
export async function listSuppressions(
  db: Queryable,
  filter: SuppressionFilter,
  { sort, order }: SuppressionOrder,
  { after, limit }: { after: SuppressionCursor | null; limit: number },
): Promise<SuppressionPage> {
  const { where, values } = conditions(filter)
  const key = SORT_KEY[sort]
  if (after) {
    values.push(after.key, after.id)
    const cursor = `($${values.length - 1}::timestamptz, $${values.length}::uuid)`
    where.push(`(${key}, s.id) ${order === 'asc' ? '>' : '<'} ${cursor}`)
  }
  values.push(limit + 1)
  const rows = await runUnprepared<SuppressionRow & { key: string }>(
    db,
    `select ${COLUMNS}, case when isfinite(${key}) then ${exactly(key)} else 'infinity' end as key from suppression_list s
     where ${where.join(' and ')} order by ${key} ${order}, s.id ${order} limit $${values.length}`,
    values,
  )
  const shown = rows.slice(0, limit).map(({ key: _, ...entry }) => entry)
  const last = rows.length > limit ? rows[limit - 1]! : null
  return { entries: shown, next: last && { key: last.key, id: last.id } }
}

function conditions(filter: SuppressionFilter): { where: string[]; values: unknown[] } {
  const where = [isActive('s').text]
  const values: unknown[] = []
  const add = (value: unknown, condition: (placeholder: string) => string) => {
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  if (filter.reason) add(filter.reason, p => `s.reason = ${p}`)
  if (filter.list?.companyId) add(filter.list.companyId, p => `s.company_id = ${p}`)
  if (filter.list?.companyId === null) where.push('s.company_id is null')
  if (filter.addedAfter) add(filter.addedAfter, p => `s.added_at >= ${p}`)
  if (filter.addedBefore) add(filter.addedBefore, p => `s.added_at < ${p}`)
  if (filter.expiresAfter) add(filter.expiresAfter, p => `${END} >= ${p}`)
  if (filter.expiresBefore) add(filter.expiresBefore, p => `${END} < ${p}`)
  if (filter.never) where.push(`s.expires_at is null and ${END} = 'infinity'`)
  if (filter.hash) {
    // hash_key is made of the first 16 hex digits of the hash, so a prefix is a range of keys.
    const digits = filter.hash.prefix.slice('sha256:'.length)
    add(keyOf(digits, '0'), p => `s.hash_key >= ${p}::bigint`)
    add(keyOf(digits, 'f'), p => `s.hash_key <= ${p}::bigint`)
    add(filter.hash.prefix, p => `starts_with(s.email_hash, ${p})`)
  }
  return { where, values }
}

const keyOf = (digits: string, filler: string) =>
  BigInt.asIntN(64, BigInt(`0x${digits.slice(0, 16).padEnd(16, filler)}`)).toString()

const HISTORY_COLUMNS = fragment`id::text as id, company_id, email_hash, action, performed_by,
  ${iso('performed_at')} as "performedAt", reason, metadata`

type Row = Omit<PastSuppression, 'justification'> & { id: string }

const HISTORY_LIMIT = 100

/** The last changes on all lists, newest first: also of entries that are no longer there. */
export async function listHistory(db: Queryable, emailHash: string): Promise<PastSuppression[]> {
  const rows = await sql<Row>(db, 'list-suppression-history')`
    select ${HISTORY_COLUMNS} from suppression_audit_log where email_hash = ${emailHash} order by id desc limit ${literal(HISTORY_LIMIT)}`
  return rows.map(toPast)
}

export const ENDINGS = ['REMOVED', 'EXPIRED'] as const
export type Ending = (typeof ENDINGS)[number]
export type EndedPage = { entries: PastSuppression[]; next: string | null }

/** Entries that were removed, or have expired, newest first. `before`: the id of the last one on the previous page. */
export async function listEnded(
  db: Queryable,
  ending: Ending,
  { before, limit }: { before: string | null; limit: number },
): Promise<EndedPage> {
  const rows = await sql<Row>(db, `list-suppressions-${ending.toLowerCase()}`)`
    select ${HISTORY_COLUMNS} from suppression_audit_log where action = ${fragment`'${ending}'`} and id < coalesce(${before}::bigint, 9223372036854775807)
     order by id desc limit ${limit + 1}`
  const shown = rows.slice(0, limit)
  return { entries: shown.map(toPast), next: rows.length > limit ? shown.at(-1)!.id : null }
}

function toPast({ id: _, metadata, ...row }: Row): PastSuppression {
  const { justification, ...rest } = metadata
  return { ...row, metadata: rest, ...(typeof justification === 'string' && { justification }) }
}

export type ActiveCounts = Record<SuppressionReason, number>

/** Scans a whole index: cache the result (platform/cache.ts). */
export async function countActive(db: Queryable): Promise<ActiveCounts> {
  const rows = await sql<{ reason: SuppressionReason; count: number }>(db, 'count-active-suppressions')`
    select reason, count(*)::float8 as count from suppression_list s where ${isActive('s')} group by reason`
  const counts = Object.fromEntries(SUPPRESSION_REASONS.map(reason => [reason, 0])) as ActiveCounts
  for (const { reason, count } of rows) counts[reason] = count
  return counts
}

export type SuppressionTotals = { reason: SuppressionReason; added: number; removed: number; expired: number }

/** All-time totals. An entry that got a more severe reason counts as added under the new reason. */
export async function readTotals(db: Queryable): Promise<SuppressionTotals[]> {
  return sql<SuppressionTotals>(db, 'read-suppression-totals')`
    select reason, sum(added + raised)::float8 as added, sum(removed)::float8 as removed, sum(expired)::float8 as expired
     from suppression_daily group by reason order by reason`
}

export async function readStats(db: Queryable, counts: () => Promise<ActiveCounts>): Promise<SuppressionStats> {
  const [active, { requests, blocked }, growth] = await Promise.all([counts(), countLastDay(db), readGrowth(db)])
  const total = Object.values(active).reduce((sum, count) => sum + count, 0)
  const hitRate = requests === 0 ? 0 : Math.round((blocked / requests) * 10_000) / 100
  return { active: { total, ...active }, last24Hours: { requests, blocked, hitRate }, growth }
}

/** The last 30 days, including days without a change. */
async function readGrowth(db: Queryable): Promise<SuppressionStats['growth']> {
  return sql<SuppressionStats['growth'][number]>(db, 'read-suppression-growth')`
    select to_char(day, 'YYYY-MM-DD') as day, coalesce(sum(added), 0)::float8 as added, coalesce(sum(removed), 0)::float8 as removed,
       coalesce(sum(expired), 0)::float8 as expired, coalesce(sum(added - removed - expired), 0)::float8 as net
     from (select ${TODAY} - back as day from generate_series(0, 29) as back) days left join suppression_daily using (day)
     group by day order by day`
}
