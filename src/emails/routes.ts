import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { findCompany } from '../companies/companies.ts'
import type { Owner } from '../companies/keys.ts'
import { spendTokens } from '../companies/rate-limit.ts'
import { ownerOf, requireKey } from '../companies/require-key.ts'
import { acceptedSchema, emailListSchema, emailSchema } from '../outbox/email-view.ts'
import { cancelEmail, rescheduleEmail } from '../outbox/schedule.ts'
import { checkSchedule, externalIdSchema, refuseTwoTimes } from '../outbox/send-body.ts'
import { EMAIL_STATUSES, FINAL_STATUSES } from '../outbox/states.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept/accept.ts'
import { type SendRouteDeps, sendAnswer, sendHeaders, toAccept } from '../pipeline/accept/routes.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { EmailLog } from '../platform/telemetry/email-log.ts'
import { addressKey, parseBareAddress } from '../platform/text/addresses.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { instantSchema, rangeEndSchema } from '../platform/text/instant.ts'
import { fieldProblems, summarise } from '../platform/text/refusal.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { templateTypeSchema } from '../templates/limits.ts'
import { isTestKey, type Principal, performedBy } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidField, invalidFields, Problem, type ProblemExtras, refusalProblem } from '../web/problem.ts'
import { route } from '../web/route.ts'
import type { App } from '../web/server.ts'
import { cancelAudited, changeAudited, logCancelled, throwUnlessDone } from './change.ts'
import { readDetails } from './details.ts'
import { findEmail, findLocation, listEmails, listEvents, listResends } from './emails.ts'
import { explanationSchema } from './explain.ts'
import { explainEmail } from './explain-english.ts'
import { adminListQuery, readAdminList, searchBody, searchEmails } from './list.ts'
import { decideResend, readStoredEmail, type StoredEmail, sendAgain } from './send-again.ts'
import { adminEmailListSchema, adminEmailSchema } from './view.ts'

export type EmailRouteDeps = { db: Database; providers: string[]; emailLog: EmailLog; accept: AcceptDeps }

/** Each change by an administrator and its entry in the audit log are one transaction. */
export function emailRoutes({ db, providers, emailLog, accept }: EmailRouteDeps) {
  return {
    show: route(
      {
        method: 'GET',
        path: '/v1/email/:outboxId',
        access: { key: 'read' },
        tag: 'E-mails',
        summary: 'One e-mail with its events',
        params: emailParams,
        response: emailSchema,
      },
      async ({ params }, caller) => {
        const email = await findOwnEmail(db, params.outboxId, toOwner(caller))
        const resentAs = await listResends(db.pool, email.outboxId)
        return { ...email, resentAs, events: await listEvents(db.pool, email.outboxId) }
      },
    ),

    explain: route(
      {
        method: 'GET',
        path: '/v1/email/:outboxId/explain',
        access: { key: 'read' },
        tag: 'E-mails',
        summary: 'Where it is, why, and what happens next',
        params: emailParams,
        response: explanationSchema,
      },
      async ({ params }, caller) => {
        const email = await findOwnEmail(db, params.outboxId, toOwner(caller))
        return explainEmail(email, await findLocation(db.pool, email.outboxId, providers))
      },
    ),

    list: route(
      {
        method: 'GET',
        path: '/v1/emails',
        access: { key: 'read' },
        tag: 'E-mails',
        summary: 'E-mails, newest first',
        query: listQuery,
        response: emailListSchema,
      },
      async ({ query: { recipient, cursor, limit, ...filters } }, caller) => {
        const rows = await listEmails(db.pool, {
          ...filters,
          owner: toOwner(caller),
          recipient: recipient === undefined ? null : recipientFilter(recipient),
          before: cursor === undefined ? null : fromCursor(cursor),
          // One row more than the page shows whether there is another page.
          limit: limit + 1,
        })
        const page = rows.slice(0, limit)
        const hasMore = rows.length > limit
        return { data: page, cursor: hasMore ? toCursor(page.at(-1)!.outboxId) : null, hasMore }
      },
    ),

    cancel: route(
      {
        method: 'POST',
        path: '/v1/email/:outboxId/cancel',
        access: { key: 'send' },
        tag: 'E-mails',
        summary: 'Cancel what has not started',
        params: emailParams,
        response: changedSchema,
        refusals: [409],
      },
      async ({ params }, caller) => {
        const { outboxId, status, scheduledAt } = await findOwnEmail(db, params.outboxId, toOwner(caller))
        const by = performedBy(caller.principal)
        throwUnlessDone(await cancelEmail(db.pool, outboxId, caller.companyId, by), status)
        await logCancelled(db, outboxId, emailLog)
        return { outboxId, status: 'CANCELLED' as const, scheduledAt }
      },
    ),

    reschedule: route(
      {
        method: 'PATCH',
        path: '/v1/email/:outboxId',
        access: { key: 'send' },
        tag: 'E-mails',
        summary: 'Reschedule what has not started',
        params: emailParams,
        body: rescheduleBody,
        response: changedSchema,
        refusals: [409],
      },
      async ({ params, body }, caller) => {
        const { outboxId, status } = await findOwnEmail(db, params.outboxId, toOwner(caller))
        checkScheduledAt(body.scheduledAt, db.clock.now())
        const scheduledAt = new Date(body.scheduledAt ?? db.clock.nowMs() + body.delay!).toISOString()
        throwUnlessDone(await rescheduleEmail(db.pool, outboxId, caller.companyId, scheduledAt), status)
        return { outboxId, status: 'PENDING' as const, scheduledAt }
      },
    ),

    adminList: route(
      {
        method: 'GET',
        path: '/admin/emails',
        access: { admin: 'viewer' },
        summary: 'E-mails of every company, newest first: look-ups, or filters within a time range',
        query: adminListQuery,
        response: adminEmailListSchema,
      },
      ({ query }) => readAdminList(db, query),
    ),

    search: route(
      {
        method: 'POST',
        path: '/admin/emails/search',
        access: { admin: 'viewer' },
        summary: 'Look up whatever was given: an id, an address, an external id or a message id',
        body: searchBody,
        response: adminEmailListSchema,
      },
      ({ body }) => searchEmails(db, body),
    ),

    adminShow: route(
      {
        method: 'GET',
        path: '/admin/emails/:outboxId',
        access: { admin: 'viewer' },
        summary: 'One e-mail: what happened, why, its attempts, recipients and webhooks',
        params: emailParams,
        response: adminEmailSchema,
      },
      async ({ params }) => (await readDetails(db, outboxIdOr404(params.outboxId), providers)) ?? notFound(),
    ),

    adminSendAgain: route(
      {
        method: 'POST',
        path: '/admin/emails/:outboxId/resend',
        access: { admin: 'support' },
        summary: 'Send an e-mail that has ended once more, as a new e-mail; all checks are made again',
        params: emailParams,
        body: adminSendAgainBody,
        response: { 202: z.object({ outboxId: z.uuid(), resendOf: z.uuid() }) },
        refusals: [409, 410],
      },
      async ({ params, body: { reason } }, { principal, requestId, status, header }) => {
        const stored = await readStoredEmail(db.pool, outboxIdOr404(params.outboxId))
        const company = stored && (await findCompany(db.pool, stored.companyId))
        if (!stored || !company) return notFound()
        const who = { performedBy: performedBy(principal), by: `administrator ${principal.name}`, requestId, reason }
        const outcome = await sendAgain(stored, bodyOrProblem(stored), company, who, { db, accept })
        const { outboxId } = sendAnswer(outcome, { header })
        status(202)
        return { outboxId, resendOf: stored.outboxId }
      },
    ),

    adminCancel: route(
      {
        method: 'POST',
        path: '/admin/emails/:outboxId/cancel',
        access: { admin: 'support' },
        summary: 'Cancel what has not started, and say why',
        params: emailParams,
        body: cancelBody,
        response: changedSchema,
        refusals: [409],
      },
      async ({ params, body: { reason } }, { principal }) => {
        const email = await findOwnEmail(db, params.outboxId, null)
        const who = { performedBy: performedBy(principal), by: `administrator ${principal.name}`, reason }
        throwUnlessDone(await cancelAudited(db, email, who), email.status)
        await logCancelled(db, email.outboxId, emailLog)
        return { outboxId: email.outboxId, status: 'CANCELLED' as const, scheduledAt: email.scheduledAt }
      },
    ),

    adminReschedule: route(
      {
        method: 'POST',
        path: '/admin/emails/:outboxId/reschedule',
        access: { admin: 'support' },
        summary: 'Move what has not started to another time; a time that has passed means now',
        params: emailParams,
        body: adminRescheduleBody,
        response: changedSchema,
        refusals: [409],
      },
      async ({ params, body: { scheduledAt, reason } }, { principal }) => {
        checkScheduledAt(scheduledAt, db.clock.now())
        const email = await findOwnEmail(db, params.outboxId, null)
        const { outboxId, companyId, status } = email
        const audit = { action: 'RESCHEDULED' as const, performedBy: performedBy(principal), reason }
        const outcome = await changeAudited(db, email, { ...audit, after: { scheduledAt } }, tx =>
          rescheduleEmail(tx, outboxId, companyId, scheduledAt),
        )
        throwUnlessDone(outcome, status)
        return { outboxId, status: 'PENDING' as const, scheduledAt }
      },
    ),
  }
}

export const emailParams = z.object({ outboxId: z.string() })

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

const rescheduleBody = z
  .strictObject({
    scheduledAt: instantSchema.optional(),
    delay: z.int().min(0).max(SEND_LIMITS.SCHEDULE_MS).optional().describe('Milliseconds from now'),
  })
  .refine(body => body.scheduledAt !== undefined || body.delay !== undefined, 'give scheduledAt or delay')
  .superRefine(refuseTwoTimes)
  .meta({ id: 'RescheduleEmail', example: { delay: 3_600_000 } })
const adminRescheduleBody = z
  .strictObject({ scheduledAt: instantSchema, reason: justificationSchema.optional() })
  .meta({ id: 'RescheduleEmailByAdmin', example: { scheduledAt: '2026-11-20T09:00:00Z' } })
const cancelBody = z
  .strictObject({ reason: justificationSchema })
  .meta({ id: 'CancelEmail', example: { reason: 'The invoice in it is wrong' } })
const adminSendAgainBody = z
  .strictObject({ reason: justificationSchema.optional() })
  .meta({ id: 'ResendEmailByAdmin', example: { reason: 'The recipient asked for it by phone' } })
const changedSchema = z.object({
  outboxId: z.uuid(),
  status: z.enum(EMAIL_STATUSES),
  scheduledAt: z.iso.datetime().nullable(),
})

const toOwner = ({ companyId, principal }: { companyId: string; principal: Principal }): Owner => ({
  companyId,
  test: isTestKey(principal),
})

/** 404 also for an e-mail of another company or mode, so that an answer does not reveal that it exists. owner null: of any company. */
async function findOwnEmail(db: Database, outboxId: string, owner: Owner | null) {
  const extras = owner === null ? {} : NOT_OF_THIS_KEY
  return (await findEmail(db.pool, outboxIdOr404(outboxId, extras), owner)) ?? notFound(extras)
}

const NOT_OF_THIS_KEY = {
  detail: 'There is no e-mail with this id; a key finds those of its own company and mode (live or test).',
}

export function outboxIdOr404(outboxId: string, extras?: ProblemExtras): string {
  return isUuid(outboxId) ? outboxId : notFound(extras)
}

export function notFound(extras: ProblemExtras = {}): never {
  throw new Problem('NOT_FOUND', extras)
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

function checkScheduledAt(scheduledAt: string | undefined, now: Date): void {
  const problem = checkSchedule(scheduledAt, now)
  if (problem) throw invalidFields([{ path: 'scheduledAt', ...problem }])
}

function bodyOrProblem(stored: StoredEmail, notEnded?: ProblemExtras) {
  const decision = decideResend(stored)
  switch (decision.kind) {
    case 'resend':
      return decision.body
    case 'not-ended':
      throw new Problem('NOT_ENDED', notEnded)
    case 'content-gone':
      throw new Problem('CONTENT_GONE')
    case 'invalid':
      throw refusalProblem(summarise(fieldProblems(decision.issues)))
  }
}

const sendAgainSchema = {
  summary: 'Send an e-mail that has ended once more, as a new e-mail that names the old one',
  tags: ['E-mails'],
  params: emailParams,
  headers: sendHeaders,
  response: {
    202: acceptedSchema.extend({ resendOf: z.uuid() }),
    ...problemAnswers(400, 401, 403, 404, 409, 410, 422, 429, 503),
  },
}

/** As the other sends, with the limits and senders of the key. */
export function sendAgainRoute(app: App, deps: SendRouteDeps & { db: Database }): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'send')
  app.post('/v1/email/:outboxId/resend', { onRequest, schema: sendAgainSchema }, (request, reply) =>
    sendAgainWithKey(request, reply, deps),
  )
}

async function sendAgainWithKey(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: Parameters<typeof sendAgainRoute>[1],
) {
  const params = request.params as z.output<typeof emailParams>
  const { outboxId } = await findOwnEmail(deps.db, params.outboxId, ownerOf(request))
  const stored = (await readStoredEmail(deps.db.pool, outboxId)) ?? notFound()
  const body = bodyOrProblem(stored, {
    detail: `The e-mail is ${stored.status}; it can be sent again once it has ended: ${FINAL_STATUSES.join(', ')}`,
  })
  await spendTokens(request, reply, 1, deps)
  const member = { index: 0, body, resend: { outboxId, template: stored.template } }
  // The key stands for this e-mail: the request has no body.
  const asked = toAccept(request, [member], true, new Map(), { resendOf: outboxId })
  const answer = sendAnswer(await acceptEmails(asked, deps.accept), reply)
  return reply
    .code(202)
    .header('location', `/v1/email/${answer.outboxId}`)
    .send({ ...answer, resendOf: outboxId })
}
