import { z } from 'zod'
import { addressKey } from '../contracts/address-key.ts'
import { parseBareAddress } from '../contracts/addresses.ts'
import type { Owner } from '../contracts/api-key.ts'
import { emailListSchema, emailSchema, explanationSchema } from '../contracts/email-view.ts'
import { explainEmail } from '../contracts/explain.ts'
import { hashEmail } from '../contracts/hashing.ts'
import { instantSchema, rangeEndSchema } from '../contracts/instant.ts'
import { checkSchedule, SEND_LIMITS } from '../contracts/send-body.ts'
import { EMAIL_STATUSES } from '../contracts/states.ts'
import { type EmailFilter, findEmail, listEmails, listEvents } from '../db/outbox/emails.ts'
import { findLocation } from '../db/outbox/location.ts'
import { type ChangeOutcome, cancelEmail, rescheduleEmail } from '../db/outbox/schedule.ts'
import type { Database } from '../db/pool.ts'
import type { App } from './app.ts'
import { ownerOf, requireKey } from './auth.ts'
import type { KeyRegistry } from './key-registry.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'

export type EmailRouteDeps = { db: Database; keys: KeyRegistry; pepper: string; providers: string[] }

const params = z.object({ outboxId: z.string() })
const refusals = problemAnswers(400, 401, 403, 404, 503)

const isDatabaseText = (text: string) => !text.includes('\0')
const NOT_TEXT = 'must not contain NUL'

const listQuery = z.object({
  status: z.enum(EMAIL_STATUSES).optional(),
  recipient: z
    .string()
    .max(320)
    .optional()
    .describe('An address; prefer few such calls, since query strings end up in logs'),
  tag: z.string().max(64).refine(isDatabaseText, NOT_TEXT).optional(),
  createdAfter: rangeEndSchema.optional(),
  createdBefore: rangeEndSchema.optional(),
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
})

const rescheduleBody = z
  .strictObject({
    scheduledAt: instantSchema.optional(),
    delay: z.int().min(0).max(SEND_LIMITS.SCHEDULE_MS).optional().describe('Milliseconds from now'),
  })
  .refine(body => (body.scheduledAt === undefined) !== (body.delay === undefined), 'give scheduledAt or delay')
  .meta({ id: 'RescheduleEmail', example: { delay: 3_600_000 } })

const changedSchema = z.object({
  outboxId: z.uuid(),
  status: z.enum(EMAIL_STATUSES),
  scheduledAt: z.iso.datetime().nullable(),
})

export function emailRoutes(app: App, { db, keys, pepper, providers }: EmailRouteDeps): void {
  const mayRead = requireKey(keys, pepper, 'read')
  const maySend = requireKey(keys, pepper, 'send')

  app.get(
    '/v1/email/:outboxId',
    {
      onRequest: mayRead,
      schema: {
        summary: 'One e-mail with its events',
        tags: ['E-mails'],
        params,
        response: { 200: emailSchema, ...refusals },
      },
    },
    async request => {
      const email = await ownEmail(db, request.params, ownerOf(request))
      return { ...email, events: await listEvents(db.pool, email.outboxId) }
    },
  )

  app.get(
    '/v1/email/:outboxId/explain',
    {
      onRequest: mayRead,
      schema: {
        summary: 'Where it is, why, and what happens next',
        tags: ['E-mails'],
        params,
        response: { 200: explanationSchema, ...refusals },
      },
    },
    async request => {
      const email = await ownEmail(db, request.params, ownerOf(request))
      return explainEmail(email, await findLocation(db.pool, email.outboxId, providers))
    },
  )

  app.get(
    '/v1/emails',
    {
      onRequest: mayRead,
      schema: {
        summary: 'E-mails, newest first',
        tags: ['E-mails'],
        querystring: listQuery,
        response: { 200: emailListSchema, ...refusals, ...problemAnswers(422) },
      },
    },
    async request => {
      const query = request.query as z.output<typeof listQuery>
      const rows = await listEmails(db.pool, toFilter(query, ownerOf(request)))
      const page = rows.slice(0, query.limit)
      const hasMore = rows.length > query.limit
      return { data: page, cursor: hasMore ? toCursor(page.at(-1)!.outboxId) : null, hasMore }
    },
  )

  app.post(
    '/v1/email/:outboxId/cancel',
    {
      onRequest: maySend,
      schema: {
        summary: 'Cancel what has not started',
        tags: ['E-mails'],
        params,
        response: { 200: changedSchema, ...refusals, ...problemAnswers(409) },
      },
    },
    async request => {
      const { outboxId } = await ownEmail(db, request.params, ownerOf(request))
      const { companyId, keyId } = request.key!
      throwUnlessDone(await cancelEmail(db.pool, outboxId, companyId, `key ${keyId}`))
      return { outboxId, status: 'CANCELLED' as const, scheduledAt: null }
    },
  )

  app.patch(
    '/v1/email/:outboxId',
    {
      onRequest: maySend,
      schema: {
        summary: 'Reschedule what has not started',
        tags: ['E-mails'],
        params,
        body: rescheduleBody,
        response: { 200: changedSchema, ...refusals, ...problemAnswers(409, 413, 415, 422) },
      },
    },
    async request => {
      const { outboxId } = await ownEmail(db, request.params, ownerOf(request))
      const body = request.body as z.output<typeof rescheduleBody>
      const late = checkSchedule(body.scheduledAt, db.clock.now())
      if (late)
        throw new Problem('INVALID_PAYLOAD', {
          errors: [{ path: 'scheduledAt', code: 'INVALID_PAYLOAD', message: late }],
        })
      const scheduledAt = new Date(body.scheduledAt ?? db.clock.nowMs() + body.delay!).toISOString()
      throwUnlessDone(await rescheduleEmail(db.pool, outboxId, request.key!.companyId, scheduledAt))
      return { outboxId, status: 'PENDING' as const, scheduledAt }
    },
  )
}

/** Another company's e-mail, one of the other mode and one that never was look the same. */
async function ownEmail(db: Database, given: unknown, owner: Owner) {
  const email = await findEmail(db.pool, uuidParams(given).outboxId, owner)
  if (!email) throw new Problem('NOT_FOUND')
  return email
}

function uuidParams(given: unknown): { outboxId: string } {
  const { outboxId } = given as { outboxId: string }
  if (!z.uuid().safeParse(outboxId).success) throw new Problem('NOT_FOUND')
  return { outboxId }
}

function throwUnlessDone(outcome: ChangeOutcome): void {
  if (outcome === 'not-found') throw new Problem('NOT_FOUND')
  if (outcome === 'too-late') throw new Problem('ALREADY_STARTED')
}

function toFilter(query: z.output<typeof listQuery>, owner: Owner): EmailFilter {
  return {
    owner,
    status: query.status ?? null,
    recipient: query.recipient === undefined ? null : searchFor(query.recipient),
    tag: query.tag ?? null,
    createdAfter: query.createdAfter ?? null,
    createdBefore: query.createdBefore ?? null,
    before: query.cursor === undefined ? null : fromCursor(query.cursor),
    // One more than asked for tells whether there is another page.
    limit: query.limit + 1,
  }
}

function searchFor(recipient: string): { key: string; address: string } {
  const parsed = parseBareAddress(recipient)
  if (!parsed.ok) throw new Problem('INVALID_EMAIL', { errors: [{ path: 'recipient', ...parsed.problem }] })
  return { key: addressKey(hashEmail(parsed.value.normalised)), address: parsed.value.normalised }
}

const toCursor = (outboxId: string) => Buffer.from(outboxId.replaceAll('-', ''), 'hex').toString('base64url')

function fromCursor(cursor: string): string {
  const hex = Buffer.from(cursor, 'base64url').toString('hex')
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  if (!z.uuid().safeParse(id).success) {
    throw new Problem('INVALID_PAYLOAD', {
      errors: [{ path: 'cursor', code: 'INVALID_PAYLOAD', message: 'is not a cursor of this list' }],
    })
  }
  return id
}
