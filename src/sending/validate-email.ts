import { ZodError } from 'zod'
import { parseAddress, parseBareAddress } from '../contracts/addresses.ts'
import { hashEmail } from '../contracts/hashing.ts'
import type { HtmlProblem } from '../contracts/html/rules.ts'
import { EMAIL_JOB_CONFIG, type EmailSendJobData, validateEmailJobData } from '../contracts/job.ts'
import { fieldPath } from '../contracts/refusal.ts'
import { SEND_LIMITS } from '../contracts/send-body.ts'
import { uuidv7Time } from '../contracts/uuid.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { VALIDATIONS } from '../db/outbox/start.ts'
import type { HtmlChecker } from './html-check.ts'
import type { FailureFacts } from './outcome.ts'

export type Validation = (typeof VALIDATIONS)[number]
/** The company's own, read only for HTML whose links would be refused without them. */
export type LinkSchemesOf = (companyId: string) => Promise<readonly string[]>
export type Invalid = { validation: Validation; failure: FailureFacts }

/** Seed 000's four validations, in its order; the first that fails ends the e-mail. Only large HTML that is not proven takes time. */
export function validateEmail(
  email: EmailToSend,
  companyId: string,
  html: HtmlChecker,
  linkSchemesOf: LinkSchemesOf,
): Invalid | null | Promise<Invalid | null> {
  const plain = isPlain(email)
  return (
    (plain ? null : integrity(email)) ??
    outbox(email, companyId) ??
    (plain ? null : recipient(email)) ??
    template(email, html, linkSchemesOf)
  )
}

const invalid = (validation: Validation, code: string, message: string): Invalid => ({
  validation,
  failure: { code, category: 'VALIDATION_ERROR', message },
})

function integrity(email: EmailToSend): Invalid | null {
  try {
    validateEmailJobData(jobDataOf(email))
    return otherReplyTo(email)
  } catch (error) {
    return invalid('INTEGRITY', 'INVALID_PAYLOAD', firstSentence(error))
  }
}

/** The job has one replyTo, an e-mail may have several. */
function otherReplyTo({ replyTo }: EmailToSend): Invalid | null {
  const bad = (replyTo ?? []).findIndex(one => !parseAddress(one).ok)
  return bad === -1 ? null : invalid('INTEGRITY', 'INVALID_PAYLOAD', `replyTo[${bad}]: must be an e-mail address`)
}

/**
 * Nearly every e-mail: one recipient and nothing that only the schema knows about. What is left for the schema to find is looked
 * at here, at a tenth of its price, and its address is not looked at again; a test holds them together.
 */
export function isPlain({
  recipients,
  recipientId,
  person,
  headers,
  replyTo,
  tags,
  requestId,
  subject,
  attempts,
}: EmailToSend): boolean {
  const [to] = recipients
  return (
    recipients.length === 1 &&
    to!.kind === 'to' &&
    to!.address.length <= 254 &&
    parseBareAddress(to!.address).ok &&
    recipientId === null &&
    person === null &&
    headers === null &&
    replyTo === null &&
    tags.length <= 5 &&
    requestId !== '' &&
    subject !== null &&
    /^[^\r\n]{1,150}$/.test(subject) &&
    attempts < EMAIL_JOB_CONFIG.MAX_ATTEMPTS
  )
}

/** The job of seed 001, rebuilt from the row. Without a recipient record, the address itself is the identifier. */
export function jobDataOf(email: EmailToSend): EmailSendJobData {
  const to = email.recipients.find(one => one.kind === 'to')?.address ?? ''
  const only = (kind: string) => email.recipients.filter(one => one.kind === kind).map(one => one.address)
  const { person } = email
  return {
    outboxId: email.outboxId,
    companyId: email.companyId,
    requestId: email.requestId,
    to,
    cc: only('cc'),
    bcc: only('bcc'),
    subject: email.subject ?? '',
    htmlRef: email.outboxId,
    ...(email.replyTo?.[0] !== undefined && { replyTo: bareAddress(email.replyTo[0]) }),
    ...(email.headers && { headers: email.headers }),
    tags: email.tags,
    recipient: {
      ...(email.recipientId && { recipientId: email.recipientId }),
      externalId: person?.externalId ?? hashEmail(to),
      ...(person?.cpfCnpjHash && { cpfCnpjHash: person.cpfCnpjHash }),
      ...(person?.razaoSocial && { razaoSocial: person.razaoSocial }),
      ...(person?.nome && { nome: person.nome }),
      email: to,
    },
    // The contract's job knows five; a persistent e-mail has more.
    attempt: Math.min(email.attempts + 1, email.maxAttempts, EMAIL_JOB_CONFIG.MAX_ATTEMPTS),
    enqueuedAt: uuidv7Time(email.outboxId).toISOString(),
  }
}

/** As it stands when it is none, for the schema to refuse. */
function bareAddress(text: string): string {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.value.address : text
}

function outbox(email: EmailToSend, companyId: string): Invalid | null {
  if (email.companyId === companyId) return null
  return invalid('OUTBOX', 'OUTBOX_NOT_FOUND', 'The e-mail belongs to another company')
}

function recipient(email: EmailToSend): Invalid | null {
  if (email.recipientId && !email.person)
    return invalid('RECIPIENT', 'RECIPIENT_NOT_FOUND', 'The recipient no longer exists')
  const bad = email.recipients.some(one => !parseBareAddress(one.address).ok)
  return bad ? invalid('RECIPIENT', 'INVALID_EMAIL', 'A recipient address is not valid') : null
}

function template(
  email: EmailToSend,
  html: HtmlChecker,
  linkSchemesOf: LinkSchemesOf,
): Invalid | null | Promise<Invalid | null> {
  if (!email.html && !email.text) return badTemplate('The e-mail has no content')
  if (!email.subject || email.subject.length > SEND_LIMITS.SUBJECT_CHARS)
    return badTemplate('The subject is missing or too long')
  if (!email.html) return null
  if (Buffer.byteLength(email.html) > SEND_LIMITS.CONTENT_BYTES) return badTemplate('The HTML is larger than 512 KB')
  if (html.isProven(email.html, email.htmlProof)) return null
  const problems = html.check(email.html, email.companyId)
  const judge = (found: HtmlProblem[]) => judgeLinks(found, email, html, linkSchemesOf)
  return problems instanceof Promise ? problems.then(judge) : judge(problems)
}

/** Nearly no e-mail comes here: what was accepted with the company's schemes is proven. */
function judgeLinks(
  problems: HtmlProblem[],
  { html, companyId }: EmailToSend,
  checker: HtmlChecker,
  linkSchemesOf: LinkSchemesOf,
): Invalid | null | Promise<Invalid | null> {
  if (!problems.some(problem => problem.code === 'HTML_URL_SCHEME')) return refusalOf(problems)
  return linkSchemesOf(companyId).then(async linkSchemes =>
    refusalOf(linkSchemes.length === 0 ? problems : await checker.check(html!, companyId, { linkSchemes })),
  )
}

const badTemplate = (message: string) => invalid('TEMPLATE', 'INVALID_TEMPLATE', message)

function refusalOf(problems: HtmlProblem[]): Invalid | null {
  return problems.length > 0 ? badTemplate(problems.map(problem => problem.message).join('; ')) : null
}

function firstSentence(error: unknown): string {
  if (!(error instanceof ZodError)) return (error as Error).message
  const issue = error.issues[0]!
  return `${fieldPath(issue.path)}: ${issue.message}`
}
