import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { instantSchema } from '../contracts/instant.ts'
import { checkSchedule, refuseTwoTimes, SEND_LIMITS } from '../contracts/send-body.ts'
import { EMAIL_STATUSES, type EmailStatus } from '../contracts/states.ts'
import { logEmails } from '../db/outbox/logged-emails.ts'
import { type ChangeOutcome, cancelEmail, rescheduleEmail } from '../db/outbox/schedule.ts'
import type { Database } from '../db/pool.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { App } from './app.ts'
import { requireKey } from './auth.ts'
import { problemAnswers } from './openapi.ts'
import { invalidFields, Problem } from './problem.ts'
import { type EmailRouteDeps, emailParams, emailRefusals, findOwnEmail } from './routes-emails.ts'

const tags = ['E-mails']
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
