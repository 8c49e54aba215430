import { z } from 'zod'
import type { Company } from '../companies/companies.ts'
import { type Attachment, loadAttachments } from '../outbox/load.ts'
import { addressSchema, type SendBody, sendBodySchema } from '../outbox/send-body.ts'
import { type EmailStatus, isFinal } from '../outbox/states.ts'
import { type AcceptDeps, type AcceptResult, acceptEmails } from '../pipeline/accept/accept.ts'
import { acceptAudited } from '../pipeline/accept/audited.ts'
import { callerOfCompany } from '../pipeline/accept/caller.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { type Queryable, sql } from '../platform/postgres/query.ts'
import { formatAddress } from '../platform/text/addresses.ts'
import { maskSensitive } from '../platform/text/masking.ts'

type ResendDecision =
  | { kind: 'resend'; body: SendBody }
  /** It may still be sent or delivered. */
  | { kind: 'not-ended' }
  /** Its content was purged, or a recipient was erased. */
  | { kind: 'content-gone' }
  /** It does not follow the rules of a new request. */
  | { kind: 'invalid'; issues: readonly z.core.$ZodIssue[] }

/** The body that sends a stored e-mail again, as if the caller had sent it now: all rules are checked again. */
export function decideResend(email: StoredEmail): ResendDecision {
  if (!isFinal(email.status)) return { kind: 'not-ended' }
  const addresses = (kind: 'to' | 'cc' | 'bcc') => email.recipients.filter(one => one.kind === kind).map(written)
  const [to, ...moreTo] = addresses('to')
  if (to === undefined || (email.html === null && email.text === null && !isUnrendered(email)))
    return { kind: 'content-gone' }
  const parsed = sendBodySchema.safeParse({
    to,
    cc: addresses('cc'),
    bcc: addresses('bcc'),
    tags: email.tags,
    priority: email.priority,
    onUnknown: email.onUnknown,
    attachments: email.attachments.map(({ filename, contentType, contentId, base64 }) => ({
      filename,
      contentType,
      content: base64,
      ...present({ contentId }),
    })),
    ...present({
      from: email.from,
      subject: email.subject,
      html: email.html,
      text: email.text,
      ...(isUnrendered(email) && { template: email.template, variables: email.variables }),
      replyTo: email.replyTo,
      headers: email.headers,
      retryPolicy: email.retryPolicy,
      externalId: email.externalId,
      recipient: email.recipientId === null ? null : { recipientId: email.recipientId },
    }),
  })
  const others = z.array(addressSchema).safeParse(moreTo)
  if (!parsed.success) return { kind: 'invalid', issues: parsed.error.issues }
  if (!others.success) return { kind: 'invalid', issues: others.error.issues }
  return { kind: 'resend', body: { ...parsed.data, to: [...parsed.data.to, ...others.data] } }
}

/** It came by SQL and ended before the worker rendered it: accept renders it now. */
const isUnrendered = ({ html, text, template, variables }: StoredEmail) =>
  html === null && text === null && template !== null && variables !== null

const written = ({ address, name }: StoredEmail['recipients'][number]) => formatAddress({ address, displayName: name })

/** The fields that are not null. */
const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** A stored e-mail as far as sending it again needs it. */
export type StoredEmail = {
  outboxId: string
  companyId: string
  test: boolean
  status: EmailStatus
  from: string | null
  subject: string | null
  template: string | null
  tags: string[]
  priority: number
  retryPolicy: string | null
  onUnknown: string
  externalId: string | null
  /** Null: it had none, or the record has another address by now. */
  recipientId: string | null
  html: string | null
  text: string | null
  /** Of an e-mail from SQL that was not rendered. */
  variables: Record<string, unknown> | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  /** Also those that were suppressed then: the list is asked again. Without those who were erased. */
  recipients: { kind: 'to' | 'cc' | 'bcc'; address: string; name: string | null }[]
  attachments: Attachment[]
}

export async function readStoredEmail(db: Queryable, outboxId: string): Promise<StoredEmail | null> {
  const [row] = await sql<Omit<StoredEmail, 'attachments'>>(db, 'read-stored-email')`
    select o.outbox_id, o.company_id, o.test, o.status, o.from_address as "from", o.subject,
       o.template_type as template, o.tags, o.priority, o.retry_policy, o.on_unknown, o.external_id,
       (select p.recipient_id from recipients p where p.recipient_id = o.recipient_id
         and p.company_id = o.company_id and p.deleted_at is null and p.email = (
           select lower(r.address) from email_recipients r where r.outbox_id = o.outbox_id and r.ordinal = 0)) as "recipientId",
       c.html, c.text, c.variables, c.reply_to, c.headers,
       (select coalesce(json_agg(json_build_object('kind', r.kind, 'address', r.address, 'name', r.display_name) order by r.ordinal), '[]')
         from email_recipients r where r.outbox_id = o.outbox_id and r.address is not null) as recipients
     from email_outbox o left join email_content c on c.outbox_id = o.outbox_id where o.outbox_id = ${outboxId}`
  return row ? { ...row, attachments: await loadAttachments(db, outboxId) } : null
}

type Sender = { performedBy: string; by: string; requestId: string; reason?: string | undefined }

/** Accepts `body` as a new e-mail of the company for somebody who has no key of it. It and its entry in the audit log are one transaction. */
export async function sendAgain(
  { outboxId, companyId, test, template }: StoredEmail,
  body: SendBody,
  company: Company,
  { performedBy, by, requestId, reason }: Sender,
  { db, accept }: { db: Database; accept: AcceptDeps },
): Promise<AcceptResult> {
  const audit = {
    performedBy,
    action: 'RESENT',
    subjectType: 'email',
    subjectId: outboxId,
    companyId,
    reason: reason === undefined ? null : maskSensitive(reason),
  } as const
  const write: AcceptDeps['write'] = toStore =>
    acceptAudited(db.pool, toStore, resentAs => ({ ...audit, after: { resentAs } }))
  const request = {
    caller: callerOfCompany(company, test, by),
    requestId,
    members: [{ index: 0, body, resend: { outboxId, template } }],
    strict: true,
    idempotency: null,
    refusedBefore: new Map(),
  }
  return acceptEmails(request, { ...accept, write })
}
