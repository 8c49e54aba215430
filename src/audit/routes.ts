import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Queryable } from '../platform/postgres/query.ts'
import { csvLine } from '../platform/text/csv.ts'
import { rangeEndSchema } from '../platform/text/instant.ts'
import { isUuid } from '../platform/text/uuid.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { recogniseSearch } from '../web/email-search.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import {
  type AuditEntryKey,
  type AuditFilter,
  type AuditPosition,
  type AuditRow,
  type AuditTable,
  type AuditWindow,
  listAuditEntries,
} from './list.ts'

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
const auditExportQuery = z.object({ ...filters, format: z.enum(['csv', 'jsonl']).default('csv') })

function auditFilter(query: z.output<typeof auditExportQuery> | z.output<typeof auditQuery>): AuditFilter {
  const { performedBy = null, action = null, subjectType = null, subjectId } = query
  const { company: companyId = null, from = null, to = null, actor = null } = query
  const subjectIds = subjectId === undefined ? null : subjectIdsOf(subjectId)
  return { entry: entryOf(query.id), performedBy, action, subjectType, subjectIds, companyId, from, to, actor }
}

/** Suppressions have the hash of the address as their id. The text itself counts, too: administrators may have an address as their name. */
function subjectIdsOf(given: string): string[] {
  const recipients = recogniseSearch(given).filter(({ by }) => by === 'recipient')
  return [...new Set([given, ...recipients.map(({ value }) => value)])]
}

/** The id of an entry names its table and its number there. */
const entryIdOf = ({ table, id }: AuditEntryKey) => `${table}${id}`

function entryOf(entryId: string | undefined): AuditEntryKey | null {
  const [, table, id] = ENTRY_ID.exec(entryId ?? '') ?? []
  return id === undefined ? null : { table: table as AuditTable, id }
}

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

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 422, 429, 503)

const listSchema = {
  summary: 'Who did what, when and why: in the admin UI, by command line and by API; newest first',
  ...common,
  querystring: auditQuery,
  response: {
    200: z.object({
      data: z.array(entrySchema),
      older: z.string().nullable().describe('Cursor of the next page'),
      newer: z.string().nullable().describe('Cursor of the page before this one'),
    }),
    ...refusals,
  },
}
const exportSchema = {
  summary: 'The same as a file: CSV, or one JSON object per line',
  ...common,
  querystring: auditExportQuery,
  response: {
    200: { description: 'The entries', content: { 'text/csv': { schema: z.string() } } },
    ...refusals,
  },
}

const TYPES = { csv: 'text/csv; charset=utf-8', jsonl: 'application/jsonl; charset=utf-8' }

export function adminAuditRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/audit', { onRequest, schema: listSchema }, async request => {
    const query = request.query as z.output<typeof auditQuery>
    const window = auditWindow(query)
    const { rows, hasMore } = await listAuditEntries(db.pool, auditFilter(query), window)
    return { data: rows.map(toView), ...cursorsOf(window, rows, hasMore) }
  })
  app.get('/admin/audit/export', { onRequest, config: { clear: true }, schema: exportSchema }, (request, reply) =>
    sendExport(request, reply, db.pool),
  )
}

const toView = ({ position, ...row }: AuditRow) => ({ id: entryIdOf(position), ...row })

/** Both ways: a page that was reached from one side has a page on that side. */
function cursorsOf({ older, newer }: AuditWindow, rows: AuditRow[], hasMore: boolean) {
  const [first, last] = [rows[0]?.position ?? older ?? newer, rows.at(-1)?.position ?? newer ?? older]
  return {
    older: last && (newer || hasMore) ? cursorOf(last) : null,
    newer: first && (older || (newer && hasMore)) ? cursorOf(first) : null,
  }
}

async function sendExport(request: FastifyRequest, reply: FastifyReply, db: AdminRouteDeps['db']['pool']) {
  const { format, ...query } = request.query as z.output<typeof auditExportQuery>
  const pieces = exportAudit(db, auditFilter({ format, ...query }), format)
  return reply
    .type(TYPES[format])
    .header('content-disposition', `attachment; filename="audit-log.${format}"`)
    .send(Readable.from(pieces))
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
