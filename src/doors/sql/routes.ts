import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { writeAudit } from '../../audit/audit.ts'
import { findCompany } from '../../companies/companies.ts'
import { type RateLimitDeps, spendTokens } from '../../companies/rate-limit.ts'
import { type KeyRegistry, ownerOf, requireKey } from '../../companies/require-key.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import { inTransaction, type Queryable, sql } from '../../platform/postgres/query.ts'
import { isUuid } from '../../platform/text/uuid.ts'
import { isTestKey, performedBy } from '../../web/access.ts'
import { problemAnswers } from '../../web/openapi.ts'
import { invalidField } from '../../web/problem.ts'
import { route } from '../../web/route.ts'
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

const enqueueSchema = {
  summary: 'enqueue_email over HTTP: answers the id of the e-mail as a JSON string',
  tags: ['SQL'],
  body: enqueueBody,
  response: { 200: z.uuid(), ...problemAnswers(400, 401, 403, 413, 415, 422, 429, 503) },
}

/** A SQL function for callers that have HTTP only. It needs the whole key, for its rate. */
export function enqueueRoute(app: App, deps: SqlRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'manage')
  app.post('/rest/v1/rpc/enqueue_email', { onRequest, schema: enqueueSchema }, (request, reply) =>
    enqueue(request, reply, deps),
  )
}

export function queueRoutes({ db }: Pick<SqlRouteDeps, 'db'>) {
  return {
    process: route(
      {
        method: 'POST',
        path: '/functions/v1/process-email-queue',
        access: { key: 'manage' },
        tag: 'SQL',
        summary: 'Bring scheduled retries forward',
        body: processBody,
        response: processedSchema,
      },
      async ({ body }, { principal, companyId }) =>
        processed(await readyRetries(db.pool, { companyId, test: isTestKey(principal) }, body?.limit ?? DEFAULT_LIMIT)),
    ),

    processByAdmin: route(
      {
        method: 'POST',
        path: '/admin/queue/process',
        access: { admin: 'support' },
        summary: 'Bring scheduled retries forward',
        body: adminProcessBody,
        response: processedSchema,
      },
      async ({ body: { limit, companyId = null } }, { principal }) => {
        if (companyId !== null && !(isUuid(companyId) && (await findCompany(db.pool, companyId.toLowerCase()))))
          throw invalidField('companyId', 'is not the id of a company', 'INVALID_VALUE')
        const ids = await inTransaction(db.pool, async tx => {
          const ready = await readyRetries(tx, { companyId, test: false }, limit)
          const audit = { performedBy: performedBy(principal), action: 'RETRIES_BROUGHT_FORWARD' } as const
          const subject = { subjectType: 'queue', subjectId: companyId ?? 'all', companyId } as const
          if (ready.length > 0) await writeAudit(tx, { ...audit, ...subject, after: { eMails: ready.length } })
          return ready
        })
        return processed(ids)
      },
    ),
  }
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

type SqlEmail = {
  userId: string | null
  templateType: string
  recipientEmail: string
  payload: Record<string, unknown>
}

/** What `enqueue_email` writes, for the company of an API key. Answers the id of the e-mail. */
async function putSqlEmail(
  db: Queryable,
  { companyId, test }: { companyId: string; test: boolean },
  { userId, templateType, recipientEmail, payload }: SqlEmail,
): Promise<string> {
  const [row] = await sql<{ id: string }>(db, 'put-sql-email')`
    select put_sql_email(${companyId}, ${test}, ${userId}, ${templateType}, ${recipientEmail}, ${JSON.stringify(payload)}) as id`
  return row!.id
}

/** Brings scheduled retries forward. Answers their ids. companyId null: of every company. */
async function readyRetries(
  db: Queryable,
  { companyId, test }: { companyId: string | null; test: boolean },
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ id: string }>(db, 'ready-retries')`
    select ready_retries(case when ${companyId}::uuid is null then array(select company_id from companies) else array[${companyId}::uuid] end, ${test}, ${limit}) as id`
  return rows.map(({ id }) => id)
}
