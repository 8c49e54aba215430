import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { EmailSummary } from '../../contracts/email-view.ts'
import { toResendEmail, toResendListItem } from '../../contracts/resend/email-view.ts'
import { readScheduledAt, SCHEDULED_AT_FORMS } from '../../contracts/resend/scheduled-at.ts'
import { checkSchedule } from '../../contracts/send-body.ts'
import { findContent, findNames, findReplyTo } from '../../db/outbox/content.ts'
import { findEmail, listEmails } from '../../db/outbox/emails.ts'
import { cancelEmail, rescheduleEmail } from '../../db/outbox/schedule.ts'
import type { Database } from '../../db/pool.ts'
import type { EmailLog } from '../../telemetry/email-log.ts'
import type { App } from '../app.ts'
import { ownerOf, requireKey } from '../auth.ts'
import { uuidParam } from '../params.ts'
import { invalidField, invalidFields, Problem } from '../problem.ts'
import { logCancelled, throwUnlessDone } from '../routes-email-changes.ts'
import { described, idParams } from './describe.ts'
import type { ResendRouteDeps } from './index.ts'
import { type PageQuery, page, pageQuery } from './paging.ts'

const changeBody = z
  .strictObject({ scheduled_at: z.string().max(100) })
  .meta({ example: { scheduled_at: 'in 1 hour' } })

export function resendEmailRoutes(app: App, { db, keys, pepper, emailLog }: ResendRouteDeps): void {
  const mayRead = requireKey(keys, pepper, 'read')
  const maySend = requireKey(keys, pepper, 'send')
  const schema = {
    list: described('E-mails, newest first', { querystring: pageQuery }),
    get: described('One e-mail', { params: idParams }),
    update: described('Reschedule an e-mail that has not started', { params: idParams, body: changeBody }),
    cancel: described('Cancel an e-mail that has not started', { params: idParams }),
  }
  app.get('/emails', { onRequest: mayRead, schema: schema.list }, request => list(request, db))
  app.get('/emails/:id', { onRequest: mayRead, schema: schema.get }, request => get(request, db))
  app.patch('/emails/:id', { onRequest: maySend, schema: schema.update }, request => update(request, db))
  app.post('/emails/:id/cancel', { onRequest: maySend, schema: schema.cancel }, request =>
    cancel(request, db, emailLog),
  )
}

/** 404 also for an e-mail of another company or mode, so that an answer does not reveal that it exists. */
export async function findResendEmail(request: FastifyRequest, db: Database) {
  const email = await findEmail(db.pool, uuidParam(request, 'id'), ownerOf(request))
  if (!email) throw new Problem('NOT_FOUND', { detail: 'Email not found' })
  return email
}

async function get(request: FastifyRequest, db: Database) {
  const email = await findResendEmail(request, db)
  const { outboxId } = email
  const [content, names] = await Promise.all([findContent(db.pool, outboxId), findNames(db.pool, [outboxId])])
  return toResendEmail(email, content, names.get(outboxId) ?? NO_NAMES, db.clock.now())
}

async function list(request: FastifyRequest, db: Database) {
  const { limit, after, before } = request.query as PageQuery
  // One row more than the page shows whether there is another page.
  const rows = await listEmails(db.pool, {
    ...NO_FILTER,
    owner: ownerOf(request),
    before: cursor('after', after),
    newerThan: cursor('before', before),
    limit: limit + 1,
  })
  const hasMore = rows.length > limit
  // Going back, the row too many is the newest.
  const shown = before === undefined ? rows.slice(0, limit) : rows.slice(-limit)
  const ids = shown.map(email => email.outboxId)
  const [replyTo, names] = await Promise.all([findReplyTo(db.pool, ids), findNames(db.pool, ids)])
  const addressesOf = ({ outboxId }: EmailSummary) => ({
    replyTo: replyTo.get(outboxId) ?? null,
    names: names.get(outboxId) ?? NO_NAMES,
  })
  const now = db.clock.now()
  return page(
    shown.map(email => toResendListItem(email, addressesOf(email), now)),
    hasMore,
  )
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()
const NO_FILTER = {
  status: null,
  recipient: null,
  tag: null,
  externalId: null,
  template: null,
  createdAfter: null,
  createdBefore: null,
}

function cursor(parameter: string, id: string | undefined): string | null {
  if (id === undefined) return null
  if (!z.uuid().safeParse(id).success) throw invalidField(parameter, 'is not an id of this list', 'INVALID_CURSOR')
  return id
}

async function update(request: FastifyRequest, db: Database) {
  const { outboxId, status } = await findResendEmail(request, db)
  const body = request.body as z.output<typeof changeBody>
  const now = db.clock.now()
  const scheduledAt = readScheduledAt(body.scheduled_at, now)
  if (scheduledAt === null) throw invalidField('scheduled_at', SCHEDULED_AT_FORMS, 'INVALID_FORMAT')
  const problem = checkSchedule(scheduledAt, now)
  if (problem) throw invalidFields([{ path: 'scheduled_at', ...problem }])
  throwUnlessDone(await rescheduleEmail(db.pool, outboxId, request.key!.companyId, scheduledAt), status)
  return { object: 'email', id: outboxId }
}

async function cancel(request: FastifyRequest, db: Database, emailLog: EmailLog) {
  const { outboxId, status } = await findResendEmail(request, db)
  const { companyId, keyId } = request.key!
  throwUnlessDone(await cancelEmail(db.pool, outboxId, companyId, `key ${keyId}`), status)
  await logCancelled(db, outboxId, emailLog)
  return { object: 'email', id: outboxId }
}
