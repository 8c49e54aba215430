import { z } from 'zod'
import { localeSchema } from '../companies/settings.ts'
import { type MailAddress, parseAddress } from '../platform/text/addresses.ts'
import { hasMoreCharacters, isBlank, problemOfLine } from '../platform/text/characters.ts'
import { isValidCpfCnpj } from '../platform/text/documents.ts'
import { instantSchema } from '../platform/text/instant.ts'
import type { FieldProblem } from '../platform/text/refusal.ts'
import { SEND_LIMITS } from '../platform/text/send-limits.ts'
import { RETRY_POLICY_NAMES } from '../settings/retry.ts'
import { templateTypeSchema } from '../templates/limits.ts'
import { checkHeaders } from './header-rules.ts'

/** A link such as cid:logo must mean one file. `field`: as the caller writes it. */
export const refuseRepeatedContentIds =
  (field: string) =>
  (files: { contentId?: string | undefined }[], context: z.RefinementCtx): void => {
    const firstUse = new Map<string, number>()
    files.forEach(({ contentId }, index) => {
      if (contentId === undefined) return
      const first = firstUse.get(contentId)
      if (first === undefined) firstUse.set(contentId, index)
      else
        context.addIssue({
          code: 'custom',
          path: [index, field],
          message: `is the same as that of attachments[${first}]`,
        })
    })
  }

export const DEFAULT_PRIORITY = 5

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/**
 * A text that is too long is refused for that alone: the body may have 16 MB, and scanning them would block the event loop. (Zod's
 * `abort` would also end the checks of the whole body, and one answer names every problem.)
 */
const orTooLong = (max: number, check: (text: string) => boolean) => (text: string) =>
  hasMoreCharacters(text, max) || check(text)

/** Text for the caller's own use, which recipients do not see. */
const callerText = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(
      orTooLong(max, text => !CONTROL.test(text)),
      'must not contain line breaks or control characters',
    )

export const externalIdSchema = callerText(255)

/** Text that recipients see. */
const oneLine = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .superRefine((text, context) => {
      if (hasMoreCharacters(text, max)) return
      const message = problemOfLine(text)
      if (message !== null) context.addIssue({ code: 'custom', message })
    })

export const subjectSchema = oneLine(SEND_LIMITS.SUBJECT_CHARS).refine(
  orTooLong(SEND_LIMITS.SUBJECT_CHARS, isEmptyOrWritten),
  'must not be blank',
)

/** What is empty is refused for its length. */
function isEmptyOrWritten(text: string): boolean {
  return text === '' || !isBlank(text)
}

const addressOr = (wordsForList?: string) =>
  z
    .string({ error: ({ input }) => (Array.isArray(input) ? wordsForList : undefined) })
    .max(320)
    .transform((text, context): MailAddress => {
      const parsed = parseAddress(text)
      if (parsed.ok) return parsed.value
      context.issues.push({
        code: 'custom',
        message: parsed.problem.message,
        input: text,
        params: { code: parsed.problem.code },
      })
      return z.NEVER
    })
    .meta({ description: 'address, or Name <address>', examples: ['Maria <maria@example.com>'] })

export const addressSchema = addressOr()
const oneAddress = addressOr(
  'must be one address; for several e-mails use POST /v1/email/batch, for several recipients POST /emails',
)

export const contentSchema = z
  .string()
  .min(1)
  .refine(text => !fits(text, SEND_LIMITS.CONTENT_BYTES) || isEmptyOrWritten(text), 'must not be blank')
  .superRefine((text, context) => {
    if (fits(text, SEND_LIMITS.CONTENT_BYTES)) return
    const message = `must not be larger than ${SEND_LIMITS.CONTENT_BYTES} bytes, has ${Buffer.byteLength(text)}`
    context.addIssue({ code: 'custom', message, params: tooManyBytes(SEND_LIMITS.CONTENT_BYTES) })
  })

export const headersSchema = z.record(z.string(), z.string()).superRefine((value, context) => {
  for (const problem of checkHeaders(value)) {
    context.addIssue({ code: 'custom', path: [problem.name], message: problem.message, params: { code: problem.code } })
  }
})

export const attachmentSchema = z.strictObject({
  filename: oneLine(255).refine(
    orTooLong(255, name => !/[/\\]/.test(name)),
    'must be a file name without a path',
  ),
  content: z
    .string()
    // Resend refuses an empty file, and would so after the e-mail was accepted.
    .min(1, 'the file is empty')
    .refine(text => text.length % 4 === 0 && BASE64.test(text), 'must be base64')
    .describe('The file, base64'),
  contentType: oneLine(127)
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[\x20-\x7e]*)?$/, 'must be a media type such as application/pdf')
    .optional()
    .describe('Guessed from the file name when absent'),
  contentId: oneLine(128)
    .regex(
      /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]+$/,
      'must be letters, digits and marks of ASCII, without spaces or brackets',
    )
    .optional()
    .describe('For inline images: <img src="cid:…">'),
})

const recipient = z.strictObject({
  recipientId: z.uuid().optional(),
  externalId: externalIdSchema.optional(),
  cpfCnpj: z
    .string()
    .max(20)
    .refine(orTooLong(20, isValidCpfCnpj), 'must be a valid CPF or CNPJ; its check digits do not match')
    .optional(),
  cpfCnpjHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
  razaoSocial: oneLine(200).optional(),
  nome: oneLine(200).optional(),
  email: addressSchema.optional(),
})

/** Shown in the API documentation; a test sends it. */
export const SEND_EXAMPLE = {
  to: 'Maria <maria@example.com>',
  subject: 'Your order 1042 is on its way',
  html: '<p>Hello Maria, <a href="https://shop.example/orders/1042">your order</a> is on its way.</p>',
  text: 'Hello Maria, your order is on its way: https://shop.example/orders/1042',
  tags: ['order'],
  externalId: 'order-1042',
}

export const sendBodySchema = z
  .strictObject({
    /** One address here; the doors of other protocols give several. */
    to: oneAddress.transform((one): MailAddress[] => [one]),
    cc: z.array(addressSchema).max(SEND_LIMITS.CC).optional(),
    bcc: z.array(addressSchema).max(SEND_LIMITS.BCC).optional(),
    from: addressSchema.optional(),
    replyTo: z.union([addressSchema, z.array(addressSchema).min(1).max(SEND_LIMITS.REPLY_TO)]).optional(),
    subject: subjectSchema.optional().describe("Required without a template; wins over the template's"),
    html: contentSchema.optional(),
    text: contentSchema.optional(),
    template: templateTypeSchema.optional().describe('The type of a template, in place of html and text'),
    variables: z.record(z.string(), z.unknown()).optional().describe('For the template; at most 64 KB'),
    locale: localeSchema.optional().describe("Of the template; the company's when absent"),
    headers: headersSchema.optional(),
    tags: z.array(callerText(SEND_LIMITS.TAG_CHARS)).max(SEND_LIMITS.TAGS).optional(),
    attachments: z
      .array(attachmentSchema)
      .max(SEND_LIMITS.ATTACHMENTS)
      .superRefine(refuseLargeAttachments)
      .superRefine(refuseRepeatedContentIds('contentId'))
      .optional(),
    recipient: recipient.optional(),
    externalId: externalIdSchema.optional(),
    priority: z.int().min(1).max(10).default(DEFAULT_PRIORITY).describe('1 is the most urgent'),
    delay: z.int().min(0).max(SEND_LIMITS.SCHEDULE_MS).optional().describe('Milliseconds'),
    scheduledAt: instantSchema.optional(),
    retryPolicy: z.enum(RETRY_POLICY_NAMES).optional(),
    onUnknown: z.enum(['resend', 'hold']).default('resend'),
  })
  .superRefine(refuseWithoutContent, {
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
  })
  .superRefine((body, context) => {
    if (!body.recipient?.email || body.recipient.email.normalised === body.to[0]?.normalised) return
    context.addIssue({ code: 'custom', path: ['recipient', 'email'], message: 'must be the same address as to' })
  })
  .superRefine(refuseTwoTimes)
  .meta({ id: 'SendEmail', description: 'One e-mail', example: SEND_EXAMPLE })

export type SendBodyInput = z.input<typeof sendBodySchema>
export type SendBody = z.output<typeof sendBodySchema>

/** Runs even if other fields are invalid, so that one response names every problem. */
function refuseWithoutContent(body: WrittenContent, context: z.RefinementCtx): void {
  const named = new Set(context.issues.map(issue => issue.path?.[0]))
  const has = (field: keyof WrittenContent) => body[field] !== undefined || named.has(field)
  const refuse = (field: keyof WrittenContent, message: string, params = {}) =>
    context.addIssue({ code: 'custom', path: [field], message, params })
  if (has('template')) {
    if (has('html') || has('text')) refuse('template', 'cannot be combined with html or text')
    return
  }
  if (!has('subject')) refuse('subject', 'is required', { code: 'INVALID_TYPE' })
  if (!has('html') && !has('text')) refuse('html', 'html or text is required')
  for (const field of ['variables', 'locale'] as const) if (body[field] !== undefined) refuse(field, 'needs a template')
}

type WrittenContent = Partial<Record<'subject' | 'html' | 'text' | 'template' | 'variables' | 'locale', unknown>>

export function refuseTwoTimes(
  body: { delay?: number | undefined; scheduledAt?: string | undefined },
  context: z.RefinementCtx,
): void {
  if (body.delay === undefined || body.scheduledAt === undefined) return
  context.addIssue({ code: 'custom', path: ['delay'], message: 'cannot be combined with scheduledAt' })
}

/** What is wrong with scheduledAt, or null. Not part of the schema because it depends on the time. */
export function checkSchedule(scheduledAt: string | undefined, now: Date): Omit<FieldProblem, 'path'> | null {
  if (scheduledAt === undefined) return null
  const aheadMs = Date.parse(scheduledAt) - now.getTime()
  if (aheadMs <= SEND_LIMITS.SCHEDULE_MS) return null
  const limit = SEND_LIMITS.SCHEDULE_MS / DAY_MS
  return { code: 'TOO_LARGE', message: `must not be more than ${limit} days ahead`, limit, unit: 'days' }
}

const DAY_MS = 24 * 60 * 60 * 1000

function fits(text: string, bytes: number): boolean {
  // A UTF-16 unit takes at most three bytes, so short texts need no counting.
  if (text.length * 3 <= bytes) return true
  return text.length <= bytes && Buffer.byteLength(text) <= bytes
}

export function refuseLargeAttachments(files: { content: string }[], context: z.RefinementCtx): void {
  const bytes = totalBytes(files)
  if (bytes <= SEND_LIMITS.ATTACHMENT_BYTES) return
  const message = `must not be larger than ${SEND_LIMITS.ATTACHMENT_BYTES} bytes (10 MB) in all, have ${bytes}`
  context.addIssue({ code: 'custom', message, params: tooManyBytes(SEND_LIMITS.ATTACHMENT_BYTES) })
}

const tooManyBytes = (limit: number) => ({ code: 'TOO_LARGE', limit, unit: 'bytes' })

function totalBytes(files: { content: string }[]): number {
  return files.reduce((sum, file) => sum + Buffer.byteLength(file.content, 'base64'), 0)
}
