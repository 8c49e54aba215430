import type { SenderSettings } from '../contracts/sender.ts'
import type { EmailToSend } from '../db/outbox/load.ts'
import type { RenderedContent } from '../db/outbox/rendered-content.ts'
import type { HtmlChecker } from './html-check.ts'
import type { PublishedTemplates } from './published-templates.ts'
import { needsRendering, renderEmail } from './render-email.ts'
import { withSender } from './sender.ts'
import { type Invalid, validateEmail } from './validate-email.ts'

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
