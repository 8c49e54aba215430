import { z } from 'zod'
import {
  addressSchema,
  endedSuppressionsSchema,
  SUPPRESSION_LIMITS,
  suppressionHistorySchema,
} from '../contracts/suppression/view.ts'
import type { Database } from '../db/pool.ts'
import { ENDINGS, listEnded, listHistory } from '../db/suppression/history.ts'
import { findEntries } from '../db/suppression/reads.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { hashOrProblem } from './routes-suppression.ts'
import { entryParams, hashParam } from './suppression-entry.ts'

const common = { tags: ['Admin'], security: [{ administrator: [] }] }
const refusals = problemAnswers(401, 422, 429, 503)

const endedQuery = z.object({
  ending: z.enum(ENDINGS).default('REMOVED'),
  cursor: z
    .string()
    .regex(/^[0-9]{1,18}$/, 'is not a cursor of this list')
    .optional(),
  limit: z.coerce.number().int().min(1).max(SUPPRESSION_LIMITS.PAGE).default(50),
})
const endedSchema = {
  summary: 'Entries that are no longer on the list: removed with which justification, or expired; newest first',
  ...common,
  querystring: endedQuery,
  response: { 200: endedSuppressionsSchema, ...refusals },
}
const historySchema = {
  summary: 'One address on all lists, with every change: also when it is on none any more',
  ...common,
  params: entryParams,
  response: { 200: suppressionHistorySchema, ...refusals, ...problemAnswers(404) },
}
const lookUpBody = z
  .strictObject({ email: addressSchema })
  .meta({ id: 'LookUpSuppression', example: { email: 'maria@example.com' } })
const lookUpSchema = {
  summary: 'The same by an address, which does not end up in a URL; empty lists when it never was suppressed',
  ...common,
  body: lookUpBody,
  response: { 200: suppressionHistorySchema, ...refusals, ...problemAnswers(400, 403, 413, 415) },
}

export function adminSuppressionHistoryRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.get('/admin/suppression/ended', { onRequest, schema: endedSchema }, async request => {
    const { ending, cursor = null, limit } = request.query as z.output<typeof endedQuery>
    const { entries, next } = await listEnded(db.pool, ending, { before: cursor, limit })
    return { data: entries, cursor: next, hasMore: next !== null }
  })
  app.get('/admin/suppression/:emailHash/history', { onRequest, schema: historySchema }, async request => {
    const history = await readHistory(db, hashParam(request.params))
    if (history.entries.length + history.auditLog.length === 0) throw new Problem('NOT_SUPPRESSED')
    return history
  })
  app.post(
    '/admin/suppression/look-up',
    { onRequest, config: { role: 'viewer' }, schema: lookUpSchema },
    async request => readHistory(db, hashOrProblem((request.body as z.output<typeof lookUpBody>).email)),
  )
}

async function readHistory({ pool }: Database, emailHash: string) {
  const [entries, auditLog] = await Promise.all([findEntries(pool, emailHash), listHistory(pool, emailHash)])
  const shown = entries.map(({ companyId, ...entry }) => ({ ...entry, ...(companyId && { companyId }) }))
  return { emailHash, entries: shown, auditLog }
}
