import type { RenderedContent } from '../../outbox/content.ts'
import type { EmailToSend } from '../../outbox/load.ts'
import type { HtmlChecker } from '../../platform/html/check.ts'
import { formatAddress } from '../../platform/text/addresses.ts'
import { maskSensitive } from '../../platform/text/masking.ts'
import type { FieldProblem } from '../../platform/text/refusal.ts'
import { decideSender, type SenderSettings } from '../../settings/sender.ts'
import { templateTypeSchema } from '../../templates/limits.ts'
import type { PublishedTemplates } from '../../templates/published.ts'
import { renderTemplate } from '../../templates/render.ts'
import { type Invalid, validateEmail } from './validate.ts'

export type ContentDeps = {
  html: HtmlChecker
  sender: SenderSettings
  templates: Pick<PublishedTemplates, 'find'>
  /** Keeps what was rendered, so that a retry sends the same. false: somebody else is changing the e-mail. */
  store: (content: RenderedContent) => Promise<boolean>
}

/** The e-mail as it can be sent, or why it cannot. null: somebody else is changing it now. */
export async function prepareContent(
  loaded: EmailToSend,
  companyId: string,
  deps: ContentDeps,
): Promise<EmailToSend | Invalid | null> {
  const { html } = deps
  const email = withSender(loaded, deps.sender)
  if ('failure' in email) return email
  if (!needsRendering(email)) return (await validateEmail(email, companyId, html)) ?? email
  const rendered = await renderEmail(email, deps.templates)
  if ('failure' in rendered) return rendered
  const invalid = await validateEmail(rendered, companyId, html)
  if (invalid) return invalid
  const checked = { ...rendered, htmlProof: rendered.html === null ? null : html.proofOf(rendered.html) }
  return (await deps.store(checked)) ? checked : null
}

/** An e-mail that came by SQL has a template and variables in place of content: SQL cannot render it. */
const needsRendering = ({ templateType, html, text }: EmailToSend) =>
  templateType !== null && html === null && text === null

/** With the content of its template. A subject of its own wins over the template's. */
async function renderEmail(
  email: EmailToSend,
  templates: Pick<PublishedTemplates, 'find'>,
): Promise<EmailToSend | Invalid> {
  const { companyId, templateType, variables } = email
  const found = await templates.find({ companyId, type: templateType!, locale: null })
  if (!found) return invalid('TEMPLATE_NOT_FOUND', notFound(templateType!))
  const result = found.parsed.ok ? renderTemplate(found.parsed.template, variables ?? {}) : found.parsed
  if (!result.ok) return refused(result.problems)
  const { subject, html, text } = result
  return { ...email, subject: email.subject ?? subject, html, htmlProof: null, text, variables: null }
}

/** SQL takes any text for a type, and this message is logged. */
function notFound(templateType: string): string {
  const isType = templateTypeSchema.safeParse(templateType).success
  return isType
    ? `There is no published template ${maskSensitive(templateType)}`
    : 'The type of the template is none: it may have letters, digits, _ and -'
}

function refused(problems: FieldProblem[]): Invalid {
  const isMissing = problems.some(({ code }) => code === 'TEMPLATE_VARIABLE_MISSING')
  const message = problems.map(problem => `${problem.path}: ${problem.message}`).join('; ')
  return invalid(isMissing ? 'TEMPLATE_VARIABLE_MISSING' : 'INVALID_TEMPLATE', message.slice(0, MAX_MESSAGE_CHARS))
}

const MAX_MESSAGE_CHARS = 1_000

const invalid = (code: string, message: string): Invalid => ({
  validation: 'TEMPLATE',
  failure: { code, category: 'VALIDATION_ERROR', message },
})

/** An e-mail that came by SQL names no sender. It gets its company's default, else EMAIL_FROM, if the company may use it. */
export function withSender(email: EmailToSend, { defaultFrom, captureOnly }: SenderSettings): EmailToSend | Invalid {
  if (email.from !== null) return email
  const { companySender } = email
  const sender = decideSender(undefined, {
    fromDomains: companySender?.fromDomains ?? [],
    companyFrom: companySender?.defaultFrom ?? null,
    defaultFrom,
    nothingLeaves: captureOnly || email.test,
  })
  return sender ? { ...email, from: formatAddress(sender) } : NO_SENDER
}

const NO_SENDER: Invalid = {
  validation: 'INTEGRITY',
  failure: {
    code: 'FROM_NOT_ALLOWED',
    category: 'VALIDATION_ERROR',
    message:
      'The e-mail names no sender, its company has no default sender, and EMAIL_FROM is not one of its sender domains. Set one with: email-gateway company update NAME --from ADDRESS',
  },
}
