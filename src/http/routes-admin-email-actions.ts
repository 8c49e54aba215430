import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { callerOfCompany } from '../accepting/caller.ts'
import { decideResend } from '../accepting/resend.ts'
import type { EmailSummary } from '../contracts/email-view.ts'
import { fieldProblems } from '../contracts/field-problems.ts'
import { instantSchema } from '../contracts/instant.ts'
import { maskSensitive } from '../contracts/masking.ts'
import { summarise } from '../contracts/refusal.ts'
import { checkSchedule } from '../contracts/send-body.ts'
import { justificationSchema } from '../contracts/suppression/view.ts'
import { acceptAudited } from '../db/admin/accept-audited.ts'
import { type AuditEntry, writeAudit } from '../db/audit.ts'
import { findCompany } from '../db/companies/companies.ts'
import { findEmail } from '../db/outbox/emails.ts'
import { readStoredEmail } from '../db/outbox/resend.ts'
import { type ChangeOutcome, cancelEmail, rescheduleEmail } from '../db/outbox/schedule.ts'
import type { Database } from '../db/pool.ts'
import { inTransaction, type Queryable } from '../db/query.ts'
import { type AcceptDeps, acceptEmails } from '../pipeline/accept.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { invalidFields, Problem, refusalProblem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'
import { adminEmailParams } from './routes-admin-email.ts'
import { changedSchema, logCancelled, throwUnlessDone } from './routes-email-changes.ts'
import { sendAnswer } from './send-answers.ts'

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

const resendSchema = {
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
  app.post('/admin/emails/:outboxId/resend', { onRequest, schema: resendSchema }, (request, reply) =>
    resend(request, reply, deps),
  )
  app.post('/admin/emails/:outboxId/cancel', { onRequest, schema: cancelSchema }, request => cancel(request, deps))
  app.post('/admin/emails/:outboxId/reschedule', { onRequest, schema: rescheduleSchema }, request =>
    reschedule(request, deps),
  )
}

async function resend(request: FastifyRequest, reply: FastifyReply, { db, accept }: AdminEmailActionDeps) {
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
