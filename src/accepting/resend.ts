import { z } from 'zod'
import { formatAddress } from '../contracts/addresses.ts'
import { addressSchema, type SendBody, sendBodySchema } from '../contracts/send-body.ts'
import { isFinal } from '../contracts/states.ts'
import type { StoredEmail } from '../db/outbox/resend.ts'

export type ResendDecision =
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
