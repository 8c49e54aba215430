import { z } from 'zod'
import { attemptsOf } from '../contracts/admin/attempts.ts'
import { type AdminEmail, adminEmailSchema, type SuppressionOfEmail } from '../contracts/admin/email-view.ts'
import type { EmailEventView } from '../contracts/email-view.ts'
import { explainEmail } from '../contracts/explain.ts'
import { hashEmail } from '../contracts/hashing.ts'
import { isFinal } from '../contracts/states.ts'
import {
  type EmailDetails,
  type EmailRecipient,
  findEmailDetails,
  listEmailDeliveries,
  listEmailRecipients,
} from '../db/admin/email-details.ts'
import { companyNames } from '../db/companies/companies.ts'
import { listEvents } from '../db/outbox/emails.ts'
import { findLocation } from '../db/outbox/location.ts'
import { listResends } from '../db/outbox/resend.ts'
import type { Database } from '../db/pool.ts'
import { findBlocking } from '../db/suppression/reads.ts'
import type { App } from './app.ts'
import { problemAnswers } from './openapi.ts'
import { uuidParam } from './params.ts'
import { Problem } from './problem.ts'
import type { AdminRouteDeps } from './routes-admin.ts'

export const adminEmailParams = z.object({ outboxId: z.string() })

const showSchema = {
  summary: 'One e-mail: what happened, why, its attempts, recipients and webhooks',
  tags: ['Admin'],
  security: [{ administrator: [] }],
  params: adminEmailParams,
  response: { 200: adminEmailSchema, ...problemAnswers(401, 404, 429, 503) },
}

export type AdminEmailDeps = AdminRouteDeps & { providers: string[] }

export function adminEmailDetailRoutes(app: App, { db, onRequest, providers }: AdminEmailDeps): void {
  app.get('/admin/emails/:outboxId', { onRequest, schema: showSchema }, async request => {
    const email = await findEmailDetails(db.pool, uuidParam(request, 'outboxId'))
    if (!email) throw new Problem('NOT_FOUND')
    return readDetails(db, email, providers)
  })
}

async function readDetails(db: Database, email: EmailDetails, providers: string[]): Promise<AdminEmail> {
  const { outboxId } = email
  const [events, location, recipients, webhooks, resentAs] = await Promise.all([
    listEvents(db.pool, outboxId),
    findLocation(db.pool, outboxId, providers),
    listEmailRecipients(db.pool, outboxId),
    listEmailDeliveries(db.pool, outboxId),
    listResends(db.pool, outboxId),
  ])
  const hashes = recipients.map(({ address }) => address && hashEmail(address))
  const { mayHaveLeft, replayable, ...shown } = email
  return {
    ...shown,
    explanation: explainEmail(email, location),
    events: events.map(event => ({ ...event, recipient: recipientOf(event, hashes) })),
    attemptList: attemptsOf(events),
    recipients: await Promise.all(
      recipients.map(async one => ({ ...one, suppression: await blockingEntry(db, one, email) })),
    ),
    webhooks,
    contentGone: location.contentGone,
    resentAs,
    may: { ...mayOf(email, location.contentGone, mayHaveLeft), replay: replayable },
  }
}

const REPORTED: EmailEventView['type'][] = ['DELIVERED', 'BOUNCE', 'COMPLAINT', 'REJECTED']

function recipientOf({ type, metadata }: EmailEventView, hashes: (string | null)[]): number | null {
  const place = REPORTED.includes(type) ? hashes.indexOf(String(metadata.recipientHash)) : -1
  return place < 0 ? null : place
}

function mayOf({ status, attempts }: EmailDetails, contentGone: boolean, mayHaveLeft: boolean) {
  return {
    resend: isFinal(status) && !contentGone,
    cancel: (status === 'PENDING' || status === 'RETRY_SCHEDULED') && !mayHaveLeft,
    reschedule: status === 'PENDING' && attempts === 0,
  }
}

/** Test e-mails ignore the suppression list. */
async function blockingEntry(
  db: Database,
  { address }: EmailRecipient,
  { companyId, test }: EmailDetails,
): Promise<SuppressionOfEmail | null> {
  const entry = address === null || test ? null : await findBlocking(db.pool, hashEmail(address), companyId)
  if (!entry) return null
  const { emailHash, reason, addedAt, expiresAt } = entry
  const names = await companyNames(db.pool, entry.companyId ? [entry.companyId] : [])
  const companyName = entry.companyId && (names.get(entry.companyId) ?? null)
  return { emailHash, reason, companyId: entry.companyId, companyName, addedAt, expiresAt }
}
