import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type AuditRow, type AuditWindow, listAuditEntries } from '../db/audit-list.ts'
import type { App } from './app.ts'
import { exportAudit } from './audit-export.ts'
import { auditExportQuery, auditFilter, auditQuery, auditWindow, cursorOf, entryIdOf } from './audit-query.ts'
import { problemAnswers } from './openapi.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

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
