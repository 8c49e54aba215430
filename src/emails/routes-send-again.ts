import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type AuditEntry, writeAudit } from '../audit/audit.ts'
import { justificationSchema } from '../audit/justification.ts'
import { findCompany } from '../companies/companies.ts'
import { spendTokens } from '../companies/rate-limit.ts'
import { requireKey } from '../companies/require-key.ts'
import { acceptedSchema, type EmailSummary } from '../outbox/email-view.ts'
import { type ChangeOutcome, cancelEmail, rescheduleEmail } from '../outbox/schedule.ts'
import { checkSchedule } from '../outbox/send-body.ts'
import { FINAL_STATUSES } from '../outbox/states.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept/accept.ts'
import { acceptAudited } from '../pipeline/accept/audited.ts'
import { callerOfCompany } from '../pipeline/accept/caller.ts'
import { type SendRouteDeps, sendAnswer, sendHeaders, toAccept } from '../pipeline/accept/routes.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import type { EmailLog } from '../platform/telemetry/email-log.ts'
import { instantSchema } from '../platform/text/instant.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { fieldProblems, summarise } from '../platform/text/refusal.ts'
import type { AdminRouteDeps } from '../web/access.ts'
import { problemAnswers } from '../web/openapi.ts'
import { invalidFields, Problem, refusalProblem } from '../web/problem.ts'
import type { App } from '../web/server.ts'
import { uuidParam } from '../web/validation.ts'
import { findEmail } from './emails.ts'
import {
  changedSchema,
  type EmailRouteDeps,
  emailParams,
  emailRefusals,
  findOwnEmail,
  logCancelled,
  throwUnlessDone,
} from './routes.ts'
import { adminEmailParams } from './routes-admin.ts'
import { decideResend, readStoredEmail } from './send-again.ts'

const sendAgainSchema = {
  summary: 'Send an e-mail that has ended once more, as a new e-mail that names the old one',
  tags: ['E-mails'],
  params: emailParams,
  headers: sendHeaders,
  response: {
    202: acceptedSchema.extend({ resendOf: z.uuid() }),
    ...emailRefusals,
    ...problemAnswers(409, 410, 422, 429),
  },
}

export function emailResendRoutes(app: App, deps: EmailRouteDeps & SendRouteDeps): void {
  const onRequest = requireKey(deps.keys, deps.pepper, 'send')
  app.post('/v1/email/:outboxId/resend', { onRequest, schema: sendAgainSchema }, (request, reply) =>
    sendAgain(request, reply, deps),
  )
}

async function sendAgain(request: FastifyRequest, reply: FastifyReply, deps: EmailRouteDeps & SendRouteDeps) {
  const { outboxId } = await findOwnEmail(request, deps.db)
  const stored = await readStoredEmail(deps.db.pool, outboxId)
  if (!stored) throw new Problem('NOT_FOUND')
  const decision = decideResend(stored)
  if (decision.kind === 'not-ended')
    throw new Problem('NOT_ENDED', {
      detail: `The e-mail is ${stored.status}; it can be sent again once it has ended: ${FINAL_STATUSES.join(', ')}`,
    })
  if (decision.kind === 'content-gone') throw new Problem('CONTENT_GONE')
  if (decision.kind === 'invalid') throw refusalProblem(summarise(fieldProblems(decision.issues)))
  await spendTokens(request, reply, 1, deps)
  const member = { index: 0, body: decision.body, resend: { outboxId, template: stored.template } }
  // The key stands for this e-mail: the request has no body.
  const asked = toAccept(request, [member], true, new Map(), { resendOf: outboxId })
  const answer = sendAnswer(await acceptEmails(asked, deps.accept), reply)
  return reply
    .code(202)
    .header('location', `/v1/email/${answer.outboxId}`)
    .send({ ...answer, resendOf: outboxId })
}

export type AdminEmailActionDeps = AdminRouteDeps & { accept: AcceptDeps; emailLog: EmailLog }

const common = { tags: ['Admin'], security: [{ administrator: [] }], params: adminEmailParams }
const refusals = problemAnswers(400, 401, 403, 404, 409, 413, 415, 422, 429, 503)

const resendBody = z
  .strictObject({ reason: justificationSchema.optional() })
  .meta({ id: 'ResendEmailByAdmin', example: { reason: 'The recipient asked for it by phone' } })
const cancelBody = z
  .strictObject({ reason: justificationSchema })
  .meta({ id: 'CancelEmail', example: { reason: 'The invoice in it is wrong' } })
const rescheduleBody = z
  .strictObject({ scheduledAt: instantSchema, reason: justificationSchema.optional() })
  .meta({ id: 'RescheduleEmailByAdmin', example: { scheduledAt: '2026-11-20T09:00:00Z' } })

const adminSendAgainSchema = {
  summary: 'Send an e-mail that has ended once more, as a new e-mail; all checks are made again',
  ...common,
  body: resendBody,
  response: { 202: z.object({ outboxId: z.uuid(), resendOf: z.uuid() }), ...refusals, ...problemAnswers(410) },
}
const cancelSchema = {
  summary: 'Cancel what has not started, and say why',
  ...common,
  body: cancelBody,
  response: { 200: changedSchema, ...refusals },
}
const rescheduleSchema = {
  summary: 'Move what has not started to another time; a time that has passed means now',
  ...common,
  body: rescheduleBody,
  response: { 200: changedSchema, ...refusals },
}

/** Each change and its entry in the audit log are one transaction. */
export function adminEmailActionRoutes(app: App, deps: AdminEmailActionDeps): void {
  const { onRequest } = deps
  app.post('/admin/emails/:outboxId/resend', { onRequest, schema: adminSendAgainSchema }, (request, reply) =>
    adminSendAgain(request, reply, deps),
  )
  app.post('/admin/emails/:outboxId/cancel', { onRequest, schema: cancelSchema }, request => cancel(request, deps))
  app.post('/admin/emails/:outboxId/reschedule', { onRequest, schema: rescheduleSchema }, request =>
    reschedule(request, deps),
  )
}

async function adminSendAgain(request: FastifyRequest, reply: FastifyReply, { db, accept }: AdminEmailActionDeps) {
  const outboxId = uuidParam(request, 'outboxId')
  const stored = await readStoredEmail(db.pool, outboxId)
  const company = stored && (await findCompany(db.pool, stored.companyId))
  if (!stored || !company) throw new Problem('NOT_FOUND')
  const decision = decideResend(stored)
  if (decision.kind === 'not-ended') throw new Problem('NOT_ENDED')
  if (decision.kind === 'content-gone') throw new Problem('CONTENT_GONE')
  if (decision.kind === 'invalid') throw refusalProblem(summarise(fieldProblems(decision.issues)))
  const asked = {
    caller: callerOfCompany(company, stored.test, `administrator ${request.admin}`),
    requestId: request.id,
    members: [{ index: 0, body: decision.body, resend: { outboxId, template: stored.template } }],
    strict: true,
    idempotency: null,
    refusedBefore: new Map(),
  }
  const { reason } = request.body as z.output<typeof resendBody>
  const audit = auditOf(request, { action: 'RESENT', outboxId, companyId: stored.companyId, reason })
  const write: AcceptDeps['write'] = toStore =>
    acceptAudited(db.pool, toStore, resentAs => ({ ...audit, after: { resentAs } }))
  const answer = sendAnswer(await acceptEmails(asked, { ...accept, write }), reply)
  return reply.code(202).send({ outboxId: answer.outboxId, resendOf: outboxId })
}

async function cancel(request: FastifyRequest, { db, emailLog }: AdminEmailActionDeps) {
  const { reason } = request.body as z.output<typeof cancelBody>
  const by = `administrator ${request.admin}`
  const audited: Change = { action: 'CANCELLED', reason }
  const { outboxId, scheduledAt } = await change(request, db, audited, (tx, id) => cancelEmail(tx, id, null, by))
  await logCancelled(db, outboxId, emailLog)
  return { outboxId, status: 'CANCELLED' as const, scheduledAt }
}

async function reschedule(request: FastifyRequest, { db }: AdminEmailActionDeps) {
  const { scheduledAt, reason } = request.body as z.output<typeof rescheduleBody>
  const problem = checkSchedule(scheduledAt, db.clock.now())
  if (problem) throw invalidFields([{ path: 'scheduledAt', ...problem }])
  const audited: Change = { action: 'RESCHEDULED', reason, after: { scheduledAt } }
  const { outboxId } = await change(request, db, audited, (tx, id, companyId) =>
    rescheduleEmail(tx, id, companyId, scheduledAt),
  )
  return { outboxId, status: 'PENDING' as const, scheduledAt }
}

type Change = { action: AuditEntry['action']; reason: string | undefined; after?: Record<string, unknown> }

/** Returns the e-mail as it was before. */
async function change(
  request: FastifyRequest,
  db: Database,
  audited: Change,
  apply: (tx: Queryable, outboxId: string, companyId: string) => Promise<ChangeOutcome>,
): Promise<EmailSummary> {
  const outboxId = uuidParam(request, 'outboxId')
  const email = await findEmail(db.pool, outboxId, null)
  if (!email) throw new Problem('NOT_FOUND')
  const before = { status: email.status, scheduledAt: email.scheduledAt }
  const entry = auditOf(request, { ...audited, before, outboxId, companyId: email.companyId })
  const outcome = await inTransaction(db.pool, async tx => {
    const changed = await apply(tx, outboxId, email.companyId)
    if (changed === 'done') await writeAudit(tx, entry)
    return changed
  })
  throwUnlessDone(outcome, email.status)
  return email
}

type AuditFacts = Change & { outboxId: string; companyId: string; before?: Record<string, unknown> }

function auditOf(request: FastifyRequest, { outboxId, reason, ...facts }: AuditFacts): AuditEntry {
  return {
    ...facts,
    performedBy: request.admin!,
    subjectType: 'email',
    subjectId: outboxId,
    reason: reason === undefined ? null : maskSensitive(reason),
  }
}
