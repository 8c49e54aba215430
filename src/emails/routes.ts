import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Owner } from '../companies/keys.ts'
import { type KeyRegistry, ownerOf, requireKey } from '../companies/require-key.ts'
import { emailListSchema, emailSchema } from '../outbox/email-view.ts'
import { logEmails } from '../outbox/logged-emails.ts'
import { type ChangeOutcome, cancelEmail, rescheduleEmail } from '../outbox/schedule.ts'
import { checkSchedule, externalIdSchema, refuseTwoTimes } from '../outbox/send-body.ts'
import { EMAIL_STATUSES, type EmailStatus } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { EmailLog } from '../platform/telemetry/email-log.ts'
import { addressKey, parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { instantSchema, rangeEndSchema } from '../platform/text/instant.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import { templateTypeSchema } from '../templates/limits.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, invalidFields, Problem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { type EmailFilter, findEmail, findLocation, listEmails, listEvents } from './emails.ts'
import { explanationSchema } from './explain.ts'
import { explainEmail } from './explain-english.ts'
import { listResends } from './send-again.ts'

export type EmailRouteDeps = {
  db: Database
  keys: KeyRegistry
  pepper: string
  providers: string[]
  emailLog: EmailLog
}

export const emailParams = z.object({ outboxId: z.string() })
export const emailRefusals = problemAnswers(400, 401, 403, 404, 503)
const tags = ['E-mails']

const listQuery = z.object({
  status: z.enum(EMAIL_STATUSES).optional(),
  recipient: z
    .string()
    .max(320)
    .optional()
    .describe('An address; prefer few such calls, since query strings end up in logs'),
  tag: z
    .string()
    .max(64)
    .refine(text => !text.includes('\0'), 'must not contain NUL')
    .optional(),
  externalId: externalIdSchema.optional().describe('Your own id, exactly as it was sent'),
  template: templateTypeSchema.optional().describe('The type of a template'),
  createdAfter: rangeEndSchema.optional(),
  createdBefore: rangeEndSchema.optional(),
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})
type ListQuery = z.output<typeof listQuery>

const showSchema = {
  summary: 'One e-mail with its events',
  tags,
  params: emailParams,
  response: { 200: emailSchema, ...emailRefusals },
}
const explainSchema = {
  summary: 'Where it is, why, and what happens next',
  tags,
  params: emailParams,
  response: { 200: explanationSchema, ...emailRefusals },
}
const listSchema = {
  summary: 'E-mails, newest first',
  tags,
  querystring: listQuery,
  response: { 200: emailListSchema, ...emailRefusals, ...problemAnswers(422) },
}

export function emailRoutes(app: App, { db, keys, pepper, providers }: EmailRouteDeps): void {
  const onRequest = requireKey(keys, pepper, 'read')

  app.get('/v1/email/:outboxId', { onRequest, schema: showSchema }, async request => {
    const email = await findOwnEmail(request, db)
    const resentAs = await listResends(db.pool, email.outboxId)
    return { ...email, resentAs, events: await listEvents(db.pool, email.outboxId) }
  })
  app.get('/v1/email/:outboxId/explain', { onRequest, schema: explainSchema }, async request => {
    const email = await findOwnEmail(request, db)
    return explainEmail(email, await findLocation(db.pool, email.outboxId, providers))
  })
  app.get('/v1/emails', { onRequest, schema: listSchema }, async request => {
    const query = request.query as ListQuery
    const rows = await listEmails(db.pool, toFilter(query, ownerOf(request)))
    const page = rows.slice(0, query.limit)
    const hasMore = rows.length > query.limit
    return { data: page, cursor: hasMore ? toCursor(page.at(-1)!.outboxId) : null, hasMore }
  })
}

/** 404 also for an e-mail of another company or mode, so that an answer does not reveal that it exists. */
export async function findOwnEmail(request: FastifyRequest, db: Database) {
  const email = await findEmail(db.pool, uuidParam(request, 'outboxId', NO_EMAIL), ownerOf(request))
  if (!email) throw new Problem('NOT_FOUND', NO_EMAIL)
  return email
}

const NO_EMAIL = {
  detail: 'There is no e-mail with this id; a key finds those of its own company and mode (live or test).',
}

function toFilter(query: ListQuery, owner: Owner): EmailFilter {
  return {
    owner,
    status: query.status ?? null,
    recipient: query.recipient === undefined ? null : recipientFilter(query.recipient),
    tag: query.tag ?? null,
    externalId: query.externalId ?? null,
    template: query.template ?? null,
    createdAfter: query.createdAfter ?? null,
    createdBefore: query.createdBefore ?? null,
    before: query.cursor === undefined ? null : fromCursor(query.cursor),
    // One row more than the page shows whether there is another page.
    limit: query.limit + 1,
  }
}

function recipientFilter(recipient: string): { key: string; address: string } {
  const parsed = parseBareAddress(recipient)
  if (!parsed.ok) throw new Problem('INVALID_EMAIL', { errors: [{ path: 'recipient', ...parsed.problem }] })
  return { key: addressKey(hashEmail(parsed.value.normalised)), address: parsed.value.normalised }
}

const toCursor = (outboxId: string) => Buffer.from(outboxId.replaceAll('-', ''), 'hex').toString('base64url')

function fromCursor(cursor: string): string {
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  if (!z.uuid().safeParse(id).success) throw invalidField('cursor', 'is not a cursor of this list', 'INVALID_CURSOR')
  return id
}

const rescheduleBody = z
  .strictObject({
    scheduledAt: instantSchema.optional(),
    delay: z.int().min(0).max(SEND_LIMITS.SCHEDULE_MS).optional().describe('Milliseconds from now'),
  })
  .refine(body => body.scheduledAt !== undefined || body.delay !== undefined, 'give scheduledAt or delay')
  .superRefine(refuseTwoTimes)
  .meta({ id: 'RescheduleEmail', example: { delay: 3_600_000 } })
export const changedSchema = z.object({
  outboxId: z.uuid(),
  status: z.enum(EMAIL_STATUSES),
  scheduledAt: z.iso.datetime().nullable(),
})

const cancelSchema = {
  summary: 'Cancel what has not started',
  tags,
  params: emailParams,
  response: { 200: changedSchema, ...emailRefusals, ...problemAnswers(409) },
}
const rescheduleSchema = {
  summary: 'Reschedule what has not started',
  tags,
  params: emailParams,
  body: rescheduleBody,
  response: { 200: changedSchema, ...emailRefusals, ...problemAnswers(409, 413, 415, 422) },
}

export function emailChangeRoutes(app: App, { db, keys, pepper, emailLog }: EmailRouteDeps): void {
  const onRequest = requireKey(keys, pepper, 'send')
  app.post('/v1/email/:outboxId/cancel', { onRequest, schema: cancelSchema }, request => cancel(request, db, emailLog))
  app.patch('/v1/email/:outboxId', { onRequest, schema: rescheduleSchema }, request => reschedule(request, db))
}

async function cancel(request: FastifyRequest, db: Database, emailLog: EmailLog) {
  const { outboxId, status, scheduledAt } = await findOwnEmail(request, db)
  const { companyId, keyId } = request.key!
  throwUnlessDone(await cancelEmail(db.pool, outboxId, companyId, `key ${keyId}`), status)
  await logCancelled(db, outboxId, emailLog)
  return { outboxId, status: 'CANCELLED' as const, scheduledAt }
}

async function reschedule(request: FastifyRequest, db: Database) {
  const { outboxId, status } = await findOwnEmail(request, db)
  const body = request.body as z.output<typeof rescheduleBody>
  const problem = checkSchedule(body.scheduledAt, db.clock.now())
  if (problem) throw invalidFields([{ path: 'scheduledAt', ...problem }])
  const scheduledAt = new Date(body.scheduledAt ?? db.clock.nowMs() + body.delay!).toISOString()
  throwUnlessDone(await rescheduleEmail(db.pool, outboxId, request.key!.companyId, scheduledAt), status)
  return { outboxId, status: 'PENDING' as const, scheduledAt }
}

export const logCancelled = (db: Database, outboxId: string, log: EmailLog) =>
  logEmails(db.pool, log, 'cancelled', [outboxId], { state: 'CANCELLED' })

/** `before`: the status when the e-mail was looked up. */
export function throwUnlessDone(outcome: ChangeOutcome, before: EmailStatus): void {
  if (outcome === 'not-found') throw new Problem('NOT_FOUND')
  if (outcome === 'locked') throw new Problem('EMAIL_LOCKED')
  if (outcome === 'too-late')
    throw new Problem('ALREADY_STARTED', before === 'CANCELLED' ? { detail: 'The e-mail is already cancelled' } : {})
}
