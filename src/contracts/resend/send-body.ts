import { z } from 'zod'
import {
  addressSchema,
  attachmentSchema,
  contentSchema,
  DEFAULT_PRIORITY,
  headersSchema,
  oneLine,
  refuseLargeAttachments,
  SEND_LIMITS,
  type SendBody,
} from '../send-body.ts'
import { readScheduledAt, SCHEDULED_AT_FORMS } from './scheduled-at.ts'
import { resendTagsSchema, toTag } from './tags.ts'

/** In all: Amazon SES takes no more in one message. */
const MAX_RECIPIENTS = SEND_LIMITS.TO

const oneOrMore = (max: number) =>
  z.union([addressSchema, z.array(addressSchema).min(1).max(max)]).transform(given => [given].flat())

/** Resend's documentation: an empty text means no text of the caller's own. */
const optionalContent = z.union([z.literal(''), contentSchema]).optional()

const attachment = attachmentSchema
  .omit({ contentType: true, contentId: true })
  .extend({
    content_type: attachmentSchema.shape.contentType,
    content_id: attachmentSchema.shape.contentId,
    path: z.undefined('is not offered: the gateway fetches no URLs; send the file as base64 in content').optional(),
  })
  .transform(({ content_type: contentType, content_id: contentId, filename, content }) => ({
    filename,
    content,
    ...(contentType !== undefined && { contentType }),
    ...(contentId !== undefined && { contentId }),
  }))

const template = z.strictObject({
  id: z.string().min(1).max(200),
  variables: z.record(z.string().max(100), z.union([z.string(), z.number()])).optional(),
})

/** One e-mail as the Resend API takes it. */
export const resendEmailSchema = z
  .strictObject({
    from: addressSchema.optional(),
    to: oneOrMore(MAX_RECIPIENTS),
    cc: oneOrMore(MAX_RECIPIENTS).optional(),
    bcc: oneOrMore(MAX_RECIPIENTS).optional(),
    reply_to: oneOrMore(SEND_LIMITS.REPLY_TO).optional(),
    subject: oneLine(SEND_LIMITS.SUBJECT_CHARS).optional(),
    html: optionalContent,
    text: optionalContent,
    template: template.optional(),
    headers: headersSchema.optional(),
    tags: resendTagsSchema.optional(),
    attachments: z.array(attachment).max(SEND_LIMITS.ATTACHMENTS).superRefine(refuseLargeAttachments).optional(),
    scheduled_at: z.string().max(100).optional().describe('ISO 8601, or simple English such as in 1 hour'),
    topic_id: z.null('is not offered: the gateway keeps no topics').optional(),
  })
  .superRefine(refuseIncomplete, {
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
  })
  .superRefine(({ to, cc = [], bcc = [] }, context) => {
    const count = to.length + cc.length + bcc.length
    if (count <= MAX_RECIPIENTS) return
    const message = `must have at most ${MAX_RECIPIENTS} addresses together with cc and bcc, has ${count}`
    context.addIssue({ code: 'custom', path: ['to'], message })
  })
  .meta({ id: 'ResendEmail' })

export type ResendEmail = z.output<typeof resendEmailSchema>

/** Runs even if other fields are invalid, so that one response names every problem. */
function refuseIncomplete(body: Record<string, unknown>, context: z.RefinementCtx): void {
  const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
  const named = new Set(context.issues.map(issue => issue.path?.[0]))
  if (body.template !== undefined) {
    if (body.html || body.text) refuse('template', 'cannot be combined with html or text')
    return
  }
  for (const [path, value] of Object.entries({ from: body.from, subject: body.subject })) {
    if (value === undefined) refuse(path, 'is required')
  }
  if (!body.html && !body.text && !named.has('html') && !named.has('text')) refuse('html', 'or text is required')
}

export type Translated = { ok: true; body: SendBody } | { ok: false; problem: { path: string; message: string } }

/** The e-mail as the accept step takes it. */
export function toSendBody(email: ResendEmail, now: Date): Translated {
  const scheduledAt = email.scheduled_at === undefined ? undefined : readScheduledAt(email.scheduled_at, now)
  if (scheduledAt === null) return { ok: false, problem: { path: 'scheduled_at', message: SCHEDULED_AT_FORMS } }
  const body: SendBody = {
    from: email.from,
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    replyTo: email.reply_to,
    subject: email.subject,
    html: email.html || undefined,
    text: email.text || undefined,
    headers: email.headers,
    tags: email.tags?.map(toTag),
    attachments: email.attachments,
    scheduledAt,
    priority: DEFAULT_PRIORITY,
    onUnknown: 'resend',
  }
  return { ok: true, body }
}
