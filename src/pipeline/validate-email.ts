import { ZodError } from 'zod'
import { parseAddress, parseBareAddress } from '../contracts/addresses.ts'
import { hashEmail } from '../contracts/hashing.ts'
import type { HtmlProblem } from '../contracts/html-rules.ts'
import { EMAIL_JOB_CONFIG, type EmailSendJobData, validateEmailJobData } from '../contracts/job.ts'
import { fieldPath } from '../contracts/refusal.ts'
import { SEND_LIMITS } from '../contracts/send-body.ts'
import { uuidv7Time } from '../contracts/uuid.ts'
import type { VALIDATIONS } from '../db/attempts.ts'
import type { Ticket } from '../db/tickets.ts'
import type { HtmlChecker } from './html-check.ts'
import type { FailureFacts } from './outcome.ts'

export type Validation = (typeof VALIDATIONS)[number]
/** The company's own, read only for HTML whose links would be refused without them. */
export type LinkSchemesOf = (companyId: string) => Promise<readonly string[]>
export type Invalid = { validation: Validation; failure: FailureFacts }

/** Seed 000's four validations, in its order; the first that fails ends the e-mail. Only large HTML that is not proven takes time. */
export function validateEmail(
  ticket: Ticket,
  companyId: string,
  html: HtmlChecker,
  linkSchemesOf: LinkSchemesOf,
): Invalid | null | Promise<Invalid | null> {
  const plain = isPlain(ticket)
  return (
    (plain ? null : integrity(ticket)) ??
    outbox(ticket, companyId) ??
    (plain ? null : recipient(ticket)) ??
    template(ticket, html, linkSchemesOf)
  )
}

const invalid = (validation: Validation, code: string, message: string): Invalid => ({
  validation,
  failure: { code, category: 'VALIDATION_ERROR', message },
})

function integrity(ticket: Ticket): Invalid | null {
  try {
    validateEmailJobData(jobDataOf(ticket))
    return otherReplyTo(ticket)
  } catch (error) {
    return invalid('INTEGRITY', 'INVALID_PAYLOAD', firstSentence(error))
  }
}

/** The job has one replyTo, an e-mail may have several. */
function otherReplyTo({ replyTo }: Ticket): Invalid | null {
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
}: Ticket): boolean {
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
export function jobDataOf(ticket: Ticket): EmailSendJobData {
  const to = ticket.recipients.find(one => one.kind === 'to')?.address ?? ''
  const only = (kind: string) => ticket.recipients.filter(one => one.kind === kind).map(one => one.address)
  const { person } = ticket
  return {
    outboxId: ticket.outboxId,
    companyId: ticket.companyId,
    requestId: ticket.requestId,
    to,
    cc: only('cc'),
    bcc: only('bcc'),
    subject: ticket.subject ?? '',
    htmlRef: ticket.outboxId,
    ...(ticket.replyTo?.[0] !== undefined && { replyTo: bareAddress(ticket.replyTo[0]) }),
    ...(ticket.headers && { headers: ticket.headers }),
    tags: ticket.tags,
    recipient: {
      ...(ticket.recipientId && { recipientId: ticket.recipientId }),
      externalId: person?.externalId ?? hashEmail(to),
      ...(person?.cpfCnpjHash && { cpfCnpjHash: person.cpfCnpjHash }),
      ...(person?.razaoSocial && { razaoSocial: person.razaoSocial }),
      ...(person?.nome && { nome: person.nome }),
      email: to,
    },
    // The contract's job knows five; a persistent e-mail has more.
    attempt: Math.min(ticket.attempts + 1, ticket.maxAttempts, EMAIL_JOB_CONFIG.MAX_ATTEMPTS),
    enqueuedAt: uuidv7Time(ticket.outboxId).toISOString(),
  }
}

/** As it stands when it is none, for the schema to refuse. */
function bareAddress(text: string): string {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.value.address : text
}

function outbox(ticket: Ticket, companyId: string): Invalid | null {
  if (ticket.companyId === companyId) return null
  return invalid('OUTBOX', 'OUTBOX_NOT_FOUND', 'The e-mail belongs to another company')
}

function recipient(ticket: Ticket): Invalid | null {
  if (ticket.recipientId && !ticket.person)
    return invalid('RECIPIENT', 'RECIPIENT_NOT_FOUND', 'The recipient no longer exists')
  const bad = ticket.recipients.some(one => !parseBareAddress(one.address).ok)
  return bad ? invalid('RECIPIENT', 'INVALID_EMAIL', 'A recipient address is not valid') : null
}

function template(
  ticket: Ticket,
  html: HtmlChecker,
  linkSchemesOf: LinkSchemesOf,
): Invalid | null | Promise<Invalid | null> {
  if (!ticket.html && !ticket.text) return badTemplate('The e-mail has no content')
  if (!ticket.subject || ticket.subject.length > SEND_LIMITS.SUBJECT_CHARS)
    return badTemplate('The subject is missing or too long')
  if (!ticket.html) return null
  if (Buffer.byteLength(ticket.html) > SEND_LIMITS.CONTENT_BYTES) return badTemplate('The HTML is larger than 512 KB')
  if (html.isProven(ticket.html, ticket.htmlProof)) return null
  const problems = html.check(ticket.html, ticket.companyId)
  const judge = (found: HtmlProblem[]) => judgeLinks(found, ticket, html, linkSchemesOf)
  return problems instanceof Promise ? problems.then(judge) : judge(problems)
}

/** Nearly no e-mail comes here: what was accepted with the company's schemes is proven. */
function judgeLinks(
  problems: HtmlProblem[],
  { html, companyId }: Ticket,
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
