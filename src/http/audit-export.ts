import { csvLine } from '../contracts/csv.ts'
import { type AuditFilter, type AuditRow, listAuditEntries } from '../db/audit-list.ts'
import type { Queryable } from '../db/query.ts'

const ROWS_AT_ONCE = 500

const COLUMNS: [name: string, read: (row: AuditRow) => string | null][] = [
  ['performed_at', row => row.performedAt],
  ['performed_by', row => row.performedBy],
  ['action', row => row.action],
  ['subject_type', row => row.subjectType],
  ['subject_id', row => row.subjectId],
  ['company_id', row => row.companyId],
  ['company', row => row.companyName],
  ['reason', row => row.reason],
  ['before', row => row.before && JSON.stringify(row.before)],
  ['after', row => row.after && JSON.stringify(row.after)],
]

/** The whole log, newest first, page by page, so that it is in memory neither here nor in Postgres. */
export async function* exportAudit(
  db: Queryable,
  filter: AuditFilter,
  format: 'csv' | 'jsonl',
): AsyncGenerator<string> {
  if (format === 'csv') yield csvLine(COLUMNS.map(([name]) => name))
  const line = format === 'csv' ? csvRow : jsonRow
  let older: AuditRow['position'] | undefined
  for (;;) {
    const { rows, hasMore } = await listAuditEntries(db, filter, { ...(older && { older }), limit: ROWS_AT_ONCE })
    if (rows.length > 0) yield rows.map(line).join('')
    if (!hasMore) return
    older = rows.at(-1)!.position
  }
}

const csvRow = (row: AuditRow) => csvLine(COLUMNS.map(([, read]) => read(row)))
const jsonRow = ({ position: _, ...row }: AuditRow) => `${JSON.stringify(row)}\n`
