import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Database } from '../platform/postgres/pool.ts'
import { exactly, iso, type Queryable, runUnprepared } from '../platform/postgres/query.ts'
import { csvLine } from '../platform/text/csv.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { recogniseSearch } from '../web/email-search.ts'
import { invalidField } from '../web/problem.ts'
import { route } from '../web/route.ts'

export type AuditRouteDeps = { db: Database }

export function auditRoutes({ db }: AuditRouteDeps) {
  return {
    list: route(
      {
        method: 'GET',
        path: '/admin/audit',
        access: { admin: 'viewer' },
        summary: 'Who did what, when and why: in the admin UI, by command line and by API; newest first',
        query: auditQuery,
        response: z.object({
          data: z.array(entrySchema),
          older: z.string().nullable().describe('Cursor of the next page'),
          newer: z.string().nullable().describe('Cursor of the page before this one'),
        }),
      },
      async ({ query }) => {
        const window = auditWindow(query)
        const { rows, hasMore } = await listAuditEntries(db.pool, query, window)
        return {
          data: rows.map(({ position, ...row }) => ({ id: entryIdOf(position), ...row })),
          ...cursorsOf(window, rows, hasMore),
        }
      },
    ),

    export: route(
      {
        method: 'GET',
        path: '/admin/audit/export',
        access: { admin: 'support' },
        clear: true,
        summary: 'The same as a file: CSV, or one JSON object per line',
        query: exportQuery,
        response: { 200: { description: 'The entries', content: { 'text/csv': { schema: z.string() } } } },
      },
      ({ query: { format, ...filter } }, { header }) => {
        header('content-type', TYPES[format])
        header('content-disposition', `attachment; filename="audit-log.${format}"`)
        return Readable.from(exportAudit(db.pool, filter, format))
      },
    ),
  }
}

const TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' }

const text = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine(value => !value.includes('\0'), 'must not contain NUL')

const ENTRY_ID = /^([as])(\d{1,18})$/

const filters = {
  id: z
    .string()
    .regex(ENTRY_ID, 'must be the id of an entry')
    .optional()
    .describe('This entry alone, whatever page it is on'),
  performedBy: text(100)
    .optional()
    .describe('Name of an administrator, `cli:` and a user, or `key` and the id of an API key'),
  actor: z
    .enum(['people'])
    .optional()
    .describe('`people`: without what the gateway did by itself, such as suppressing an address that bounced'),
  action: text(100).optional(),
  subjectType: text(100).optional(),
  subjectId: text(200)
    .optional()
    .describe('Its id; of a suppression the address or its hash, with or without `sha256:`'),
  company: z
    .string()
    .toLowerCase()
    .refine(value => isUuid(value), 'must be the id of a company')
    .optional(),
  from: rangeEndSchema.optional(),
  to: rangeEndSchema.optional(),
}

const auditQuery = z.object({
  ...filters,
  olderThan: z.string().max(200).optional().describe('The cursor `older` of a page'),
  newerThan: z.string().max(200).optional().describe('The cursor `newer` of a page'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
const exportQuery = z.object({ ...filters, format: z.enum(['csv', 'jsonl']).default('csv') })
type AuditFilter = Omit<z.output<typeof exportQuery>, 'format'>

const values = z.record(z.string(), z.unknown()).nullable()
const entrySchema = z
  .object({
    id: z.string(),
    performedAt: z.iso.datetime(),
    performedBy: z.string(),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    companyId: z.uuid().nullable(),
    companyName: z.string().nullable(),
    before: values,
    after: values,
    reason: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry' })

/** The table of a row and its number there. */
type AuditEntryKey = { table: AuditTable; id: string }
/** Where a row stands: its time to the microsecond, then its table and number. */
type AuditPosition = AuditEntryKey & { time: string }

/** `older` or `newer` than a position; without one, the newest. */
type AuditWindow = { older?: AuditPosition; newer?: AuditPosition; limit: number }

type AuditRow = Omit<z.output<typeof entrySchema>, 'id'> & { position: AuditPosition }

/** The id of an entry names its table and its number there. */
const entryIdOf = ({ table, id }: AuditEntryKey) => `${table}${id}`

function auditWindow({ olderThan, newerThan, limit }: z.output<typeof auditQuery>): AuditWindow {
  if (newerThan) return { newer: positionOf(newerThan, 'newerThan'), limit }
  return olderThan ? { older: positionOf(olderThan, 'olderThan'), limit } : { limit }
}

const cursorOf = ({ time, table, id }: AuditPosition) => Buffer.from([time, table, id].join(' ')).toString('base64url')

function positionOf(cursor: string, field: string): AuditPosition {
  const [time = '', table, id = '', ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ')
  const isTable = table === 'a' || table === 's'
  if (isTable && rangeEndSchema.safeParse(time).success && /^\d{1,18}$/.test(id) && rest.length === 0)
    return { time, table, id }
  throw invalidField(field, 'is not a cursor of this list', 'INVALID_CURSOR')
}

/** Both ways: a page that was reached from one side has a page on that side. */
function cursorsOf({ older, newer }: AuditWindow, rows: AuditRow[], hasMore: boolean) {
  const [first, last] = [rows[0]?.position ?? older ?? newer, rows.at(-1)?.position ?? newer ?? older]
  return {
    older: last && (newer || hasMore) ? cursorOf(last) : null,
    newer: first && (older || (newer && hasMore)) ? cursorOf(first) : null,
  }
}

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
async function* exportAudit(db: Queryable, filter: AuditFilter, format: 'csv' | 'jsonl'): AsyncGenerator<string> {
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

/** The names under which the gateway acts by itself; an index leaves out the first, which adds and ends suppressions. */
const NOT_BY_GATEWAY = `performed_by <> 'system' and performed_by not in ('reputation', 'gateway')`

type AuditTable = 'a' | 's'
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
async function listAuditEntries(
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
  const [, entryTable, entryNumber] = ENTRY_ID.exec(filter.id ?? '') ?? []
  const where: string[] = []
  if (filter.id) where.push(entryTable === table ? `id = ${put(entryNumber)}::bigint` : 'false')
  if (filter.performedBy) where.push(`performed_by = ${put(filter.performedBy)}`)
  if (filter.actor === 'people') where.push(NOT_BY_GATEWAY)
  if (filter.action) where.push(`action = ${put(filter.action)}`)
  if (filter.subjectType) where.push(`${subjectType} = ${put(filter.subjectType)}`)
  if (filter.subjectId) where.push(`${subjectId} in (${subjectIdsOf(filter.subjectId).map(put).join(', ')})`)
  if (filter.company) where.push(`company_id = ${put(filter.company)}`)
  if (filter.from) where.push(`performed_at >= ${put(filter.from)}`)
  if (filter.to) where.push(`performed_at < ${put(filter.to)}`)
  return where
}

/** Suppressions have the hash of the address as their id. The text itself counts, too: administrators may have an address as their name. */
function subjectIdsOf(given: string): string[] {
  const recipients = recogniseSearch(given).filter(({ by }) => by === 'recipient')
  return [...new Set([given, ...recipients.map(({ value }) => value)])]
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
