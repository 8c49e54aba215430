import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { addressKey } from '../contracts/address-key.ts'
import { parseBareAddress } from '../contracts/addresses.ts'
import type { Owner } from '../contracts/api-key.ts'
import { emailListSchema, emailSchema, explanationSchema } from '../contracts/email-view.ts'
import { explainEmail } from '../contracts/explain.ts'
import { hashEmail } from '../contracts/hashing.ts'
import { rangeEndSchema } from '../contracts/instant.ts'
import { externalIdSchema, templateTypeSchema } from '../contracts/send-body.ts'
import { EMAIL_STATUSES } from '../contracts/states.ts'
import { type EmailFilter, findEmail, listEmails, listEvents } from '../db/outbox/emails.ts'
import { findLocation } from '../db/outbox/location.ts'
import { listResends } from '../db/outbox/resend.ts'
import type { Database } from '../db/pool.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { App } from './app.ts'
import { ownerOf, requireKey } from './auth.ts'
import type { KeyRegistry } from './key-registry.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { invalidField, Problem } from './problem.ts'

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
