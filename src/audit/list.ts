import { exactly, iso, type Queryable, runUnprepared } from '../platform/postgres/query.ts'

export type AuditFilter = {
  /** One entry alone. */
  entry: AuditEntryKey | null
  performedBy: string | null
  action: string | null
  subjectType: string | null
  /** The subject has one of these ids. */
  subjectIds: string[] | null
  companyId: string | null
  from: string | null
  to: string | null
  /** people: without what the gateway did by itself. */
  actor: 'people' | null
}

export type AuditTable = 'a' | 's'
/** The table of a row and its number there. */
export type AuditEntryKey = { table: AuditTable; id: string }
/** Where a row stands: its time to the microsecond, then its table and number. */
export type AuditPosition = AuditEntryKey & { time: string }

/** `older` or `newer` than a position; without one, the newest. */
export type AuditWindow = { older?: AuditPosition; newer?: AuditPosition; limit: number }

export type AuditRow = {
  position: AuditPosition
  performedAt: string
  performedBy: string
  action: string
  subjectType: string
  subjectId: string
  companyId: string | null
  companyName: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
  reason: string | null
}

/** The names under which the gateway acts by itself; an index leaves out the first, which adds and ends suppressions. */
const NOT_BY_GATEWAY = `performed_by <> 'system' and performed_by not in ('reputation', 'gateway')`

/** What the tables have in common. The entries of the suppression list keep their justification in the metadata. */
const TABLES: Record<AuditTable, { name: string; columns: string; subjectType: string; subjectId: string }> = {
  a: {
    name: 'audit_log',
    columns: 'subject_type, subject_id, before, after, reason',
    subjectType: 'subject_type',
    subjectId: 'subject_id',
  },
  s: {
    name: 'suppression_audit_log',
    columns: `'suppression' as subject_type, email_hash as subject_id, null::jsonb as before,
      jsonb_build_object('reason', reason) || (metadata - 'justification') as after, nullif(metadata ->> 'justification', '') as reason`,
    subjectType: `'suppression'`,
    subjectId: 'email_hash',
  },
}

/**
 * Both audit logs as one list, newest first. Each table gives its part of the page from an index, so a page costs the same however
 * long the logs are. Not prepared, so that Postgres plans for the given filters.
 */
export async function listAuditEntries(
  db: Queryable,
  filter: AuditFilter,
  { older, newer, limit }: AuditWindow,
): Promise<{ rows: AuditRow[]; hasMore: boolean }> {
  const values: unknown[] = []
  const put = (value: unknown) => `$${values.push(value)}`
  const order = newer ? 'asc' : 'desc'
  const most = put(limit + 1)
  const parts = (['a', 's'] as const).map(table => {
    const { name, columns } = TABLES[table]
    const where = [...conditions(table, filter, put), ...windowOf(table, { older, newer }, put)]
    return `(select '${table}' as source, id, performed_at, performed_by, action, company_id, ${columns} from ${name}
      ${where.length > 0 ? `where ${where.join(' and ')}` : ''} order by performed_at ${order}, id ${order} limit ${most})`
  })
  const found = await runUnprepared<Omit<AuditRow, 'position'> & { time: string; source: AuditTable; id: string }>(
    db,
    `select l.source, l.id::text, ${exactly('l.performed_at')} as time, ${iso('l.performed_at')} as "performedAt",
       l.performed_by, l.action, l.subject_type, l.subject_id,
       l.company_id, c.name as "companyName", l.before, l.after, l.reason
     from (select * from (${parts.join(' union all ')}) merged
           order by performed_at ${order}, source ${order}, id ${order} limit ${most}) l
     left join companies c on c.company_id = l.company_id
     order by l.performed_at ${order}, l.source ${order}, l.id ${order}`,
    values,
  )
  const rows = found
    .slice(0, limit)
    .map(({ time, source, id, ...row }) => ({ position: { time, table: source, id }, ...row }))
  return { rows: newer ? rows.reverse() : rows, hasMore: found.length > limit }
}

function conditions(table: AuditTable, filter: AuditFilter, put: (value: unknown) => string): string[] {
  const { subjectType, subjectId } = TABLES[table]
  const where: string[] = []
  if (filter.entry) where.push(filter.entry.table === table ? `id = ${put(filter.entry.id)}::bigint` : 'false')
  if (filter.performedBy) where.push(`performed_by = ${put(filter.performedBy)}`)
  if (filter.actor === 'people') where.push(NOT_BY_GATEWAY)
  if (filter.action) where.push(`action = ${put(filter.action)}`)
  if (filter.subjectType) where.push(`${subjectType} = ${put(filter.subjectType)}`)
  if (filter.subjectIds) where.push(`${subjectId} in (${filter.subjectIds.map(put).join(', ')})`)
  if (filter.companyId) where.push(`company_id = ${put(filter.companyId)}`)
  if (filter.from) where.push(`performed_at >= ${put(filter.from)}`)
  if (filter.to) where.push(`performed_at < ${put(filter.to)}`)
  return where
}

/** Rows are ordered by time, then table, then id: in another table the time alone decides. */
function windowOf(
  table: AuditTable,
  { older, newer }: { older: AuditPosition | undefined; newer: AuditPosition | undefined },
  put: (value: unknown) => string,
): string[] {
  const position = newer ?? older
  if (!position) return []
  const time = `${put(position.time)}::timestamptz`
  if (table === position.table)
    return [`(performed_at, id) ${newer ? '>' : '<'} (${time}, ${put(position.id)}::bigint)`]
  const isBefore = table < position.table
  if (newer) return [`performed_at ${isBefore ? '>' : '>='} ${time}`]
  return [`performed_at ${isBefore ? '<=' : '<'} ${time}`]
}
