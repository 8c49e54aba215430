import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { writeAudit } from '../../audit/audit.ts'
import { findCompany } from '../../companies/companies.ts'
import { type RateLimitDeps, spendTokens } from '../../companies/rate-limit.ts'
import { type KeyRegistry, ownerOf, requireKey } from '../../companies/require-key.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { inTransaction, type Queryable, sql } from '../../platform/postgres/query.ts'
import { isUuid } from '../../platform/text/uuid.ts'
import type { AdminRouteDeps } from '../../web/access.ts'
import { problemAnswers } from '../../web/openapi.ts'
import { invalidField } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'

export type SqlRouteDeps = RateLimitDeps & { db: Database; keys: KeyRegistry; pepper: string }

/** What one call brings forward when it does not say. */
const DEFAULT_LIMIT = 10

const enqueueBody = z
  .strictObject({
    p_user_id: z.uuid().nullish().describe('Who caused it in your application'),
    p_template_type: z.string().min(1).max(100),
    p_recipient_email: z.string().min(1).max(400).describe('Checked when it is sent, as in SQL'),
    p_payload: z.record(z.string(), z.unknown()).nullish().describe('The variables of the template'),
  })
  .meta({
    id: 'EnqueueEmail',
    example: {
      p_user_id: '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d',
      p_template_type: 'welcome_user',
      p_recipient_email: 'test@example.com',
      p_payload: { user_data: { full_name: 'Test User' } },
    },
  })
const limit = z.int().min(1).max(1000).default(DEFAULT_LIMIT)
const processBody = z
  .strictObject({ limit })
  .prefault({})
  .nullish()
  .meta({ id: 'ProcessQueue', example: { limit: 10 } })
const adminProcessBody = z
  .strictObject({ limit, companyId: z.string().max(100).optional().describe('Without it: of every company') })
  .meta({ id: 'ProcessQueueByAdmin', example: { limit: 10 } })
const processedSchema = z.object({ processed: z.int(), outboxIds: z.array(z.uuid()) })

const tags = ['SQL']
const enqueueSchema = {
  summary: 'enqueue_email over HTTP: answers the id of the e-mail as a JSON string',
  tags,
  body: enqueueBody,
  response: { 200: z.uuid(), ...problemAnswers(400, 401, 403, 413, 415, 422, 429, 503) },
}
const processSchema = {
  summary: 'Bring scheduled retries forward',
  tags,
  body: processBody,
  response: { 200: processedSchema, ...problemAnswers(400, 401, 403, 413, 415, 422, 503) },
}
const adminProcessSchema = {
  summary: 'Bring scheduled retries forward',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  body: adminProcessBody,
  response: { 200: processedSchema, ...problemAnswers(400, 401, 403, 413, 415, 422, 429, 503) },
}

/** The SQL functions for callers that have HTTP only. */
export function sqlRoutes(app: App, deps: SqlRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  app.post('/rest/v1/rpc/enqueue_email', { onRequest, schema: enqueueSchema }, (request, reply) =>
    enqueue(request, reply, deps),
  )
  app.post('/functions/v1/process-email-queue', { onRequest, schema: processSchema }, async request => {
    const body = request.body as z.output<typeof processBody>
    return processed(await readyRetries(deps.db.pool, ownerOf(request), body?.limit ?? DEFAULT_LIMIT))
  })
}

export function adminQueueRoutes(app: App, { db, onRequest }: AdminRouteDeps): void {
  app.post('/admin/queue/process', { onRequest, schema: adminProcessSchema }, async request => {
    const { limit, companyId = null } = request.body as z.output<typeof adminProcessBody>
    if (companyId !== null && !(isUuid(companyId) && (await findCompany(db.pool, companyId.toLowerCase()))))
      throw invalidField('companyId', 'is not the id of a company', 'INVALID_VALUE')
    const ids = await inTransaction(db.pool, async tx => {
      const ready = await readyRetries(tx, { companyId, test: false }, limit)
      const audit = { performedBy: request.admin!, action: 'RETRIES_BROUGHT_FORWARD', subjectType: 'queue' } as const
      const after = { eMails: ready.length }
      if (ready.length > 0) await writeAudit(tx, { ...audit, subjectId: companyId ?? 'all', companyId, after })
      return ready
    })
    return processed(ids)
  })
}

async function enqueue(request: FastifyRequest, reply: FastifyReply, deps: SqlRouteDeps) {
  await spendTokens(request, reply, 1, deps)
  const body = request.body as z.output<typeof enqueueBody>
  const id = await putSqlEmail(deps.db.pool, ownerOf(request), {
    userId: body.p_user_id ?? null,
    templateType: body.p_template_type,
    recipientEmail: body.p_recipient_email,
    payload: body.p_payload ?? {},
  })
  // Fastify sends a string as it is.
  return reply.type('application/json').send(JSON.stringify(id))
}

const processed = (outboxIds: string[]) => ({ processed: outboxIds.length, outboxIds })

export type SqlEmail = {
  userId: string | null
  templateType: string
  recipientEmail: string
  payload: Record<string, unknown>
}

/** What `enqueue_email` writes, for the company of an API key. Answers the id of the e-mail. */
export async function putSqlEmail(
  db: Queryable,
  { companyId, test }: { companyId: string; test: boolean },
  { userId, templateType, recipientEmail, payload }: SqlEmail,
): Promise<string> {
  const [row] = await sql<{ id: string }>(db, 'put-sql-email')`
    select put_sql_email(${companyId}, ${test}, ${userId}, ${templateType}, ${recipientEmail}, ${JSON.stringify(payload)}) as id`
  return row!.id
}

/** Brings scheduled retries forward. Answers their ids. companyId null: of every company. */
export async function readyRetries(
  db: Queryable,
  { companyId, test }: { companyId: string | null; test: boolean },
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ id: string }>(db, 'ready-retries')`
    select ready_retries(case when ${companyId}::uuid is null then array(select company_id from companies) else array[${companyId}::uuid] end, ${test}, ${limit}) as id`
  return rows.map(({ id }) => id)
}
