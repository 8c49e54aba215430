import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ownerOf, requireKey } from '../../companies/require-key.ts'
import { logCancelled, throwUnlessDone } from '../../emails/change.ts'
import { findEmail, listEmails } from '../../emails/emails.ts'
import { findContent, findNames, findReplyTo, type StoredContent } from '../../outbox/content.ts'
import type { EmailSummary } from '../../outbox/email-view.ts'
import { cancelEmail, rescheduleEmail } from '../../outbox/schedule.ts'
import { checkSchedule } from '../../outbox/send-body.ts'
import type { EmailStatus } from '../../outbox/states.ts'
import type { Database } from '../../platform/postgres/pool.ts'
import type { EmailLog } from '../../platform/telemetry/email-log.ts'
import { formatAddress } from '../../platform/text/addresses.ts'
import { invalidField, invalidFields, Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { uuidParam } from '../../web/validation.ts'
import { fromTag } from '../../webhooks/body.ts'
import { described, idParams, type PageQuery, page, pageQuery } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'
import { readScheduledAt, SCHEDULED_AT_FORMS } from './send.ts'

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

export type ResendLastEvent =
  | 'bounced'
  | 'canceled'
  | 'complained'
  | 'delivered'
  | 'delivery_delayed'
  | 'failed'
  | 'queued'
  | 'scheduled'
  | 'sent'
  | 'suppressed'

const LAST_EVENTS: Readonly<Record<EmailStatus, ResendLastEvent>> = {
  PENDING: 'queued',
  PROCESSING: 'queued',
  RETRY_SCHEDULED: 'delivery_delayed',
  // The message may have left; until that is known, it is reported as delayed.
  UNKNOWN: 'delivery_delayed',
  SENT: 'sent',
  DELIVERED: 'delivered',
  BOUNCED: 'bounced',
  COMPLAINED: 'complained',
  REJECTED: 'failed',
  FAILED: 'failed',
  DLQ: 'failed',
  EXPIRED: 'failed',
  CANCELLED: 'canceled',
}

export function lastEventOf({ status, scheduledAt, lastError }: LastEventFacts, now: Date): ResendLastEvent {
  if (status === 'PENDING' && scheduledAt !== null && Date.parse(scheduledAt) > now.getTime()) return 'scheduled'
  if (status === 'REJECTED' && lastError?.code === 'RECIPIENT_SUPPRESSED') return 'suppressed'
  return LAST_EVENTS[status]
}

type LastEventFacts = Pick<EmailSummary, 'status' | 'scheduledAt' | 'lastError'>

/** What the summary of an e-mail does not have: its reply addresses, and the display names by address. */
export type MailAddresses = { replyTo: string[] | null; names: ReadonlyMap<string, string> }

/** An e-mail in a list of the Resend API. */
export function toResendListItem(email: EmailSummary, { replyTo, names }: MailAddresses, now: Date) {
  const named = (addresses: string[]) =>
    addresses.map(address => formatAddress({ address, displayName: names.get(address) ?? null }))
  return {
    id: email.outboxId,
    // The SDK's type has no null. It is known once a provider has taken the e-mail.
    message_id: email.messageId ?? '',
    to: named(email.to),
    from: email.from,
    created_at: email.createdAt,
    subject: email.subject ?? '',
    bcc: nullIfEmpty(named(email.bcc)),
    cc: nullIfEmpty(named(email.cc)),
    reply_to: nullIfEmpty(replyTo ?? []),
    last_event: lastEventOf(email, now),
    scheduled_at: email.scheduledAt,
  }
}

/** content null: retention has deleted it. */
export function toResendEmail(
  email: EmailSummary,
  content: StoredContent | null,
  names: MailAddresses['names'],
  now: Date,
) {
  return {
    object: 'email' as const,
    ...toResendListItem(email, { replyTo: content?.replyTo ?? null, names }, now),
    html: content?.html ?? null,
    text: content?.text ?? null,
    tags: email.tags.map(fromTag),
  }
}

const nullIfEmpty = (addresses: string[]) => (addresses.length > 0 ? addresses : null)
