import type { SuppressionReason } from '../../contracts/suppression/rules.ts'
import type { SuppressionAuditEntry, SuppressionRow } from '../../contracts/suppression/view.ts'
import { exactly } from '../outbox/dead-letters.ts'
import { iso, type Queryable, run, runUnprepared } from '../query.ts'
import { END, isActive, severity } from './list.ts'

const COLUMNS = `s.id, s.company_id as "companyId", s.email_hash as "emailHash", s.reason, ${iso('s.added_at')} as "addedAt",
  ${iso('s.expires_at')} as "expiresAt", ${iso('s.updated_at')} as "updatedAt", s.metadata`

/** The more severe of the company's own and the global entry. companyId null: the global list only. */
export async function findBlocking(
  db: Queryable,
  emailHash: string,
  companyId: string | null,
): Promise<SuppressionRow | null> {
  const [row] = await run<SuppressionRow>(
    db,
    'find-blocking-suppression',
    `select ${COLUMNS} from suppression_list s
     where s.email_hash = $1 and (s.company_id is null or s.company_id = $2) and ${isActive('s')}
     order by ${severity('s.reason')} desc, ${END} desc limit 1`,
    [emailHash, companyId],
  )
  return row ?? null
}

/** The entries on all lists, the global one first. */
export async function findEntries(db: Queryable, emailHash: string): Promise<SuppressionRow[]> {
  return run<SuppressionRow>(
    db,
    'find-suppressions',
    `select ${COLUMNS} from suppression_list s where s.email_hash = $1 and ${isActive('s')}
     order by s.company_id nulls first limit 1000`,
    [emailHash],
  )
}

/** The ids of entries on one company's list, by hash. */
export async function findEntryIds(
  db: Queryable,
  emailHashes: string[],
  companyId: string,
): Promise<Map<string, string>> {
  const rows = await run<{ emailHash: string; id: string }>(
    db,
    'find-suppression-ids',
    `select s.email_hash as "emailHash", s.id from suppression_list s where s.email_hash = any($1) and s.company_id = $2`,
    [emailHashes, companyId],
  )
  return new Map(rows.map(({ emailHash, id }) => [emailHash, id]))
}

const AUDIT_LIMIT = 100

/** The last 100 changes on one list, oldest first. */
export async function listAudit(
  db: Queryable,
  emailHash: string,
  companyId: string | null,
): Promise<SuppressionAuditEntry[]> {
  const rows = await run<SuppressionAuditEntry & { justification: string | null }>(
    db,
    'list-suppression-audit',
    `select action, performed_by as "performedBy", ${iso('performed_at')} as "performedAt", reason,
       metadata ->> 'justification' as justification
     from suppression_audit_log where email_hash = $1 and company_id is not distinct from $2 order by id desc limit ${AUDIT_LIMIT}`,
    [emailHash, companyId],
  )
  return rows.reverse().map(({ justification, ...entry }) => (justification ? { ...entry, justification } : entry))
}

export const SUPPRESSION_SORTS = ['addedAt', 'expiresAt'] as const
export const SUPPRESSION_ORDERS = ['desc', 'asc'] as const
export type SuppressionOrder = {
  sort: (typeof SUPPRESSION_SORTS)[number]
  order: (typeof SUPPRESSION_ORDERS)[number]
}
const SORT_KEY: Record<SuppressionOrder['sort'], string> = { addedAt: 's.added_at', expiresAt: END }

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
  const where = [isActive('s')]
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
