import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { spendTokens } from '../../companies/rate-limit.ts'
import { requireKey } from '../../companies/require-key.ts'
import {
  addressSchema,
  attachmentSchema,
  checkSchedule,
  contentSchema,
  DEFAULT_PRIORITY,
  headersSchema,
  refuseLargeAttachments,
  refuseRepeatedContentIds,
  type SendBody,
  subjectSchema,
} from '../../outbox/send-body.ts'
import { acceptEmails } from '../../pipeline/accept/accept.ts'
import { batchAnswer, batchMembers, sendAnswer, toAccept, validateAllButBody } from '../../pipeline/accept/routes.ts'
import { type MailAddress, parseAddress } from '../../platform/text/addresses.ts'
import { instantSchema } from '../../platform/text/instant.ts'
import {
  type BatchError,
  type FieldProblem,
  fieldProblems,
  REPORT_INPUT,
  type Refusal,
  summarise,
} from '../../platform/text/refusal.ts'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { BATCH_BODY_LIMIT, boundBodies, SEND_BODY_LIMIT, SEND_MEMORY } from '../../web/body.ts'
import { refusalProblem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'
import { resendTagsSchema, toTag } from '../../webhooks/body.ts'
import { described } from './describe.ts'
import type { ResendRouteDeps } from './routes.ts'
import {
  findTemplatesToSend,
  problemsOfVariables,
  type ResendVariable,
  type TemplateToSend,
} from './stored-templates.ts'

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
const RESEND_EMAIL_EXAMPLE = {
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

type Translated = { ok: true; body: SendBody } | { ok: false; problems: FieldProblem[] }

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

const sendHeaders = z.object({ 'idempotency-key': z.string().optional() })
const batchHeaders = sendHeaders.extend({ 'x-batch-validation': z.enum(['strict', 'permissive']).optional() })
const batchBody = z
  .array(resendEmailSchema)
  .min(1)
  .max(SEND_LIMITS.BATCH)
  .meta({ example: [RESEND_EMAIL_EXAMPLE] })

export function resendSendRoutes(app: App, deps: ResendRouteDeps, memory = SEND_MEMORY): void {
  // The key first: memory is shared fairly between companies.
  const onRequest = [requireKey(deps.keys, deps.pepper, 'send'), boundBodies(memory, request => request.key!.companyId)]
  const schema = {
    send: described('Send an e-mail', { headers: sendHeaders, body: resendEmailSchema }),
    batch: described('Accept up to 100 e-mails', { headers: batchHeaders, body: batchBody }),
  }
  app.post('/emails', { onRequest, bodyLimit: SEND_BODY_LIMIT, schema: schema.send }, (request, reply) =>
    send(request, reply, deps),
  )
  app.post(
    '/emails/batch',
    {
      onRequest,
      bodyLimit: BATCH_BODY_LIMIT,
      validatorCompiler: validateAllButBody as never,
      schema: schema.batch,
    },
    (request, reply) => sendBatch(request, reply, deps),
  )
}

async function send(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const [translated] = await translate([request.body as ResendEmail], request, deps)
  if (!translated!.ok) throw refusalProblem(summarise(translated!.problems))
  await spendTokens(request, reply, 1, deps)
  const members = [{ index: 0, body: translated!.body }]
  const outcome = await acceptEmails(toAccept(request, members, true), deps.accept)
  return { id: sendAnswer(outcome, reply).outboxId }
}

async function sendBatch(request: FastifyRequest, reply: FastifyReply, deps: ResendRouteDeps) {
  const bodies = batchMembers(request.body)
  await spendTokens(request, reply, bodies.length, deps)
  const strict = request.headers['x-batch-validation'] !== 'permissive'
  const { members, refused } = await readMembers(bodies, request, deps)
  const outcome = await acceptEmails(toAccept(request, members, strict, refused), deps.accept)
  const { data, errors = [] } = batchAnswer(outcome, reply, strict)
  const ids = data.map(({ outboxId }) => ({ id: outboxId }))
  return strict ? { data: ids } : { data: ids, errors: toErrors(errors) }
}

async function readMembers(bodies: unknown[], request: FastifyRequest, deps: ResendRouteDeps) {
  const emails: { index: number; email: ResendEmail }[] = []
  const members: { index: number; body: SendBody }[] = []
  const refused = new Map<number, Refusal>()
  bodies.forEach((body, index) => {
    const parsed = resendEmailSchema.safeParse(body, REPORT_INPUT)
    if (parsed.success) emails.push({ index, email: parsed.data })
    else refused.set(index, summarise(fieldProblems(parsed.error.issues)))
  })
  const translated = await translate(
    emails.map(({ email }) => email),
    request,
    deps,
  )
  emails.forEach(({ index }, place) => {
    const one = translated[place]!
    if (one.ok) members.push({ index, body: one.body })
    else refused.set(index, summarise(one.problems))
  })
  return { members, refused }
}

/** One query for the templates of all of them. */
async function translate(emails: ResendEmail[], request: FastifyRequest, deps: ResendRouteDeps): Promise<Translated[]> {
  const names = [...new Set(emails.flatMap(({ template }) => template?.id ?? []))]
  const templates = await findTemplatesToSend(deps.db.pool, request.key!.companyId, names)
  const now = deps.db.clock.now()
  return emails.map(email => toSendBody(email, namedTemplate(email.template?.id, templates), now))
}

function namedTemplate(name: string | undefined, templates: TemplateToSend[]): NamedTemplate | null {
  const byId = templates.find(({ id }) => id === name)
  if (byId) return byId
  const byAlias = templates.find(({ type }) => type === name)
  return byAlias ? { ...byAlias, locale: null } : null
}

const toErrors = (errors: BatchError[]) => errors.map(({ index, message }) => ({ index, message }))

const MAX_CHARS = 100
const SECOND_MS = 1000
const DAY_MS = 24 * 60 * 60 * SECOND_MS

const UNITS_MS: Readonly<Record<string, number>> = {
  second: SECOND_MS,
  sec: SECOND_MS,
  minute: 60 * SECOND_MS,
  min: 60 * SECOND_MS,
  hour: 60 * 60 * SECOND_MS,
  hr: 60 * 60 * SECOND_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
}

const DURATION = /^in (an?|\d{1,9}) (second|sec|minute|min|hour|hr|day|week)s?$/
const TIME_OF_DAY = /^(today|tomorrow)(?: at (\d{1,2})(?::(\d{2}))? ?(am|pm)?)?$/

export const SCHEDULED_AT_FORMS =
  'must be an ISO 8601 time such as 2026-11-15T10:00:00Z, or one of: in 5 min, in 1 hour, in 2 days, tomorrow at 9am (UTC)'

/** The `scheduled_at` of the Resend API: an ISO 8601 time or simple English. Returns UTC; null when it is neither. */
export function readScheduledAt(text: string, now: Date): string | null {
  if (text.length > MAX_CHARS) return null
  const words = text.trim().toLowerCase().replace(/\s+/g, ' ')
  const ms = readDuration(words, now) ?? readTimeOfDay(words, now)
  if (ms !== null) return instant(ms)
  const iso = instantSchema.safeParse(text.trim())
  return iso.success ? iso.data : null
}

function readDuration(words: string, now: Date): number | null {
  const [, amount, unit] = DURATION.exec(words) ?? []
  if (amount === undefined || unit === undefined) return null
  return now.getTime() + (amount.startsWith('a') ? 1 : Number(amount)) * UNITS_MS[unit]!
}

/** In UTC: neither the caller's time zone nor the recipient's is known. Without a time: the same time as now. */
function readTimeOfDay(words: string, now: Date): number | null {
  const [, day, hourText, minuteText, half] = TIME_OF_DAY.exec(words) ?? []
  if (day === undefined) return null
  const days = day === 'tomorrow' ? 1 : 0
  if (hourText === undefined) return now.getTime() + days * DAY_MS
  const hour = hourOf(Number(hourText), half)
  const minute = Number(minuteText ?? 0)
  if (hour === null || minute > 59) return null
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + days, hour, minute)
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour <= 23 ? hour : null
  if (hour < 1 || hour > 12) return null
  return (hour % 12) + (half === 'pm' ? 12 : 0)
}

/** null: outside of the times that a Date can hold. */
function instant(ms: number): string | null {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? null : time.toISOString()
}
