import { z } from 'zod'
import { type MailAddress, parseAddress } from './addresses.ts'
import { isValidCpfCnpj } from './documents.ts'
import { checkHeaders } from './header-rules.ts'
import { instantSchema } from './instant.ts'
import { RETRY_POLICY_NAMES } from './retry.ts'

export const SEND_LIMITS = {
  CC: 5,
  BCC: 5,
  REPLY_TO: 5,
  SUBJECT_CHARS: 150,
  CONTENT_BYTES: 512 * 1024,
  TAGS: 5,
  TAG_CHARS: 64,
  ATTACHMENTS: 10,
  ATTACHMENT_BYTES: 10 * 1024 * 1024,
  VARIABLES_BYTES: 64 * 1024,
  SCHEDULE_MS: 30 * 24 * 60 * 60 * 1000,
  BATCH: 100,
} as const

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const oneLine = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => !CONTROL.test(text), 'must not contain line breaks or control characters')

const address = z
  .string()
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

const content = z
  .string()
  .min(1)
  .refine(text => fits(text, SEND_LIMITS.CONTENT_BYTES), `must not be larger than ${SEND_LIMITS.CONTENT_BYTES} bytes`)

const headers = z.record(z.string(), z.string()).superRefine((value, context) => {
  for (const problem of checkHeaders(value)) {
    context.addIssue({ code: 'custom', path: [problem.name], message: problem.message, params: { code: problem.code } })
  }
})

const attachment = z.strictObject({
  filename: oneLine(255).refine(name => !/[/\\]/.test(name), 'must be a file name without a path'),
  content: z
    .string()
    .min(1)
    .refine(text => text.length % 4 === 0 && BASE64.test(text), 'must be base64')
    .describe('The file, base64'),
  contentType: oneLine(127)
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;.*)?$/, 'must be a media type such as application/pdf')
    .default('application/octet-stream'),
  contentId: oneLine(128)
    .regex(/^[^<>\s]+$/, 'must not contain spaces or angle brackets')
    .optional()
    .describe('For inline images: <img src="cid:…">'),
})

const recipient = z.strictObject({
  recipientId: z.uuid().optional(),
  externalId: oneLine(255).optional(),
  cpfCnpj: z
    .string()
    .max(20)
    .refine(isValidCpfCnpj, 'must be a valid CPF or CNPJ; its check digits do not match')
    .optional(),
  cpfCnpjHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')
    .optional(),
  razaoSocial: oneLine(200).optional(),
  nome: oneLine(200).optional(),
  email: address.optional(),
})

const variables = z
  .record(z.string().max(100), z.unknown())
  .refine(
    value => fits(JSON.stringify(value), SEND_LIMITS.VARIABLES_BYTES),
    `must not be larger than ${SEND_LIMITS.VARIABLES_BYTES} bytes`,
  )

export const sendBodySchema = z
  .strictObject({
    to: address,
    cc: z.array(address).max(SEND_LIMITS.CC).optional(),
    bcc: z.array(address).max(SEND_LIMITS.BCC).optional(),
    from: address.optional(),
    replyTo: z.union([address, z.array(address).min(1).max(SEND_LIMITS.REPLY_TO)]).optional(),
    subject: oneLine(SEND_LIMITS.SUBJECT_CHARS).optional(),
    html: content.optional(),
    text: content.optional(),
    template: oneLine(100).optional(),
    variables: variables.optional(),
    headers: headers.optional(),
    tags: z.array(oneLine(SEND_LIMITS.TAG_CHARS)).max(SEND_LIMITS.TAGS).optional(),
    attachments: z
      .array(attachment)
      .max(SEND_LIMITS.ATTACHMENTS)
      .refine(files => totalBytes(files) <= SEND_LIMITS.ATTACHMENT_BYTES, 'must not be larger than 10 MB in all')
      .optional(),
    recipient: recipient.optional(),
    externalId: oneLine(255).optional(),
    priority: z.int().min(1).max(10).default(5).describe('1 is the most urgent'),
    delay: z.int().min(0).max(SEND_LIMITS.SCHEDULE_MS).optional().describe('Milliseconds'),
    scheduledAt: instantSchema.optional(),
    retryPolicy: z.enum(RETRY_POLICY_NAMES).optional(),
    onUnknown: z.enum(['resend', 'hold']).default('resend'),
  })
  .superRefine((body, context) => {
    const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
    if (body.template === undefined) {
      if (body.html === undefined && body.text === undefined) refuse(['html'], 'html, text or template is required')
      if (body.subject === undefined) refuse(['subject'], 'is required')
      if (body.variables !== undefined) refuse(['variables'], 'only makes sense together with template')
    } else if (body.html !== undefined || body.text !== undefined) {
      refuse(['template'], 'cannot be combined with html or text')
    }
    if (body.delay !== undefined && body.scheduledAt !== undefined)
      refuse(['delay'], 'cannot be combined with scheduledAt')
    if (body.recipient?.email && body.recipient.email.normalised !== body.to.normalised) {
      refuse(['recipient', 'email'], 'must be the same address as to')
    }
  })
  .meta({ id: 'SendEmail', description: 'One e-mail' })

export type SendBodyInput = z.input<typeof sendBodySchema>
export type SendBody = z.output<typeof sendBodySchema>

/** Not part of the schema, since it depends on the time: null, or what is wrong with scheduledAt. */
export function checkSchedule(scheduledAt: string | undefined, now: Date): string | null {
  if (scheduledAt === undefined) return null
  const aheadMs = Date.parse(scheduledAt) - now.getTime()
  return aheadMs > SEND_LIMITS.SCHEDULE_MS ? 'must not be more than 30 days ahead' : null
}

function fits(text: string, bytes: number): boolean {
  // A UTF-16 unit is one to three bytes, so most texts need no counting.
  if (text.length * 3 <= bytes) return true
  return text.length <= bytes && Buffer.byteLength(text) <= bytes
}

function totalBytes(files: { content: string }[]): number {
  return files.reduce((sum, file) => sum + Buffer.byteLength(file.content, 'base64'), 0)
}
