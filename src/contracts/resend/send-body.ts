import { z } from 'zod'
import { type MailAddress, parseAddress } from '../addresses.ts'
import { refuseRepeatedContentIds } from '../content-ids.ts'
import type { FieldProblem } from '../refusal.ts'
import {
  addressSchema,
  attachmentSchema,
  checkSchedule,
  contentSchema,
  DEFAULT_PRIORITY,
  headersSchema,
  refuseLargeAttachments,
  SEND_LIMITS,
  type SendBody,
  subjectSchema,
} from '../send-body.ts'
import { readScheduledAt, SCHEDULED_AT_FORMS } from './scheduled-at.ts'
import { resendTagsSchema, toTag } from './tags.ts'
import { problemsOfVariables, type ResendVariable } from './template.ts'

/** In all: Amazon SES takes no more in one message. */
const MAX_RECIPIENTS = SEND_LIMITS.TO

const addresses = (max: number, min = 0) =>
  z.union([addressSchema, z.array(addressSchema).min(min).max(max)]).transform(given => [given].flat())

/** Resend's documentation: an empty text means no text of the caller's own. A blank one says as little. */
const blank = z
  .string()
  .regex(/^\s*$/)
  .transform(() => '')
const optionalContent = z.union([blank, contentSchema]).optional()

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
  variables: z
    .record(z.string().max(100), z.unknown())
    .optional()
    .describe('Strings and numbers; for a template of the native API also objects and lists'),
})

/** Shown in the API documentation; a test sends it. */
export const RESEND_EMAIL_EXAMPLE = {
  from: 'Acme <shop@example.com>',
  to: ['maria@example.com'],
  subject: 'Your order 1042 is on its way',
  html: '<p>Hello Maria, your order is on its way.</p>',
  tags: [{ name: 'category', value: 'order' }],
}

/** One e-mail as the Resend API takes it. */
export const resendEmailSchema = z
  .strictObject({
    from: addressSchema.optional(),
    to: addresses(MAX_RECIPIENTS, 1),
    cc: addresses(MAX_RECIPIENTS).optional(),
    bcc: addresses(MAX_RECIPIENTS).optional(),
    reply_to: addresses(SEND_LIMITS.REPLY_TO).optional(),
    subject: subjectSchema.optional(),
    html: optionalContent,
    text: optionalContent,
    template: template.optional(),
    headers: headersSchema.optional(),
    tags: resendTagsSchema.optional(),
    attachments: z
      .array(attachment)
      .max(SEND_LIMITS.ATTACHMENTS)
      .superRefine(refuseLargeAttachments)
      .superRefine(refuseRepeatedContentIds('content_id'))
      .optional(),
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
  .meta({ id: 'ResendEmail', example: RESEND_EMAIL_EXAMPLE })

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
  if (!body.html && !body.text && !named.has('html') && !named.has('text'))
    refuse('html', 'or the `text` field is required')
}

/** What a template of the company adds to an e-mail that names it. */
export type NamedTemplate = {
  type: string
  /** null: the company's. */
  locale: string | null
  from: string | null
  replyTo: string[] | null
  variables: ResendVariable[] | null
}

export type Translated = { ok: true; body: SendBody } | { ok: false; problems: FieldProblem[] }

/** The e-mail as the accept step takes it. named null: a starter, or no template that there is. */
export function toSendBody(email: ResendEmail, named: NamedTemplate | null, now: Date): Translated {
  const scheduledAt = email.scheduled_at === undefined ? undefined : readScheduledAt(email.scheduled_at, now)
  const problems = [...problemsOfSchedule(scheduledAt, now), ...problemsOfValues(email, named)]
  if (problems.length > 0) return { ok: false, problems }
  const body: SendBody = {
    from: email.from ?? (named?.from ? parsed([named.from])[0] : undefined),
    to: email.to,
    cc: email.cc,
    bcc: email.bcc,
    replyTo: replyToOf(email, named),
    subject: email.subject,
    html: email.html || undefined,
    text: email.text || undefined,
    template: email.template && (named?.type ?? email.template.id),
    locale: named?.locale ?? undefined,
    variables: email.template?.variables,
    headers: email.headers,
    tags: email.tags?.map(toTag),
    attachments: email.attachments,
    scheduledAt: scheduledAt ?? undefined,
    priority: DEFAULT_PRIORITY,
    onUnknown: 'resend',
  }
  return { ok: true, body }
}

/** An empty list is none: it must not be stored as one. */
function replyToOf({ reply_to = [] }: ResendEmail, named: NamedTemplate | null): MailAddress[] | undefined {
  const chosen = reply_to.length > 0 ? reply_to : parsed(named?.replyTo ?? [])
  return chosen.length > 0 ? chosen : undefined
}

function problemsOfSchedule(scheduledAt: string | null | undefined, now: Date): FieldProblem[] {
  const path = 'scheduled_at'
  if (scheduledAt === null) return [{ path, code: 'INVALID_PAYLOAD', message: SCHEDULED_AT_FORMS }]
  const late = checkSchedule(scheduledAt, now)
  return late ? [{ path, ...late }] : []
}

/** Templates of the native API and starters declare no variables: their values are checked when they are rendered. */
function problemsOfValues({ template }: ResendEmail, named: NamedTemplate | null): FieldProblem[] {
  return named?.variables ? problemsOfVariables(template?.variables ?? {}, named.variables) : []
}

/** They were valid when the template was made. */
const parsed = (texts: string[]) =>
  texts.flatMap(text => {
    const address = parseAddress(text)
    return address.ok ? [address.value] : []
  })
