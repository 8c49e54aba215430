import type { EmailToSend } from '../db/outbox/load.ts'
import type { RenderedContent } from '../db/outbox/rendered-content.ts'
import type { HtmlChecker } from './html-check.ts'
import type { PublishedTemplates } from './published-templates.ts'
import { needsRendering, renderEmail } from './render-email.ts'
import { type Invalid, type LinkSchemesOf, validateEmail } from './validate-email.ts'

export type ContentDeps = {
  html: HtmlChecker
  linkSchemesOf: LinkSchemesOf
  templates: Pick<PublishedTemplates, 'find'>
  /** Keeps what was rendered, so that a retry sends the same. */
  store: (content: RenderedContent) => Promise<void>
}

/** The e-mail as it can be sent, or why it cannot. */
export async function prepareContent(
  email: EmailToSend,
  companyId: string,
  deps: ContentDeps,
): Promise<EmailToSend | Invalid> {
  const { html, linkSchemesOf } = deps
  if (!needsRendering(email)) return (await validateEmail(email, companyId, html, linkSchemesOf)) ?? email
  const rendered = await renderEmail(email, deps.templates)
  if ('failure' in rendered) return rendered
  const invalid = await validateEmail(rendered, companyId, html, linkSchemesOf)
  if (invalid) return invalid
  const proven = { ...rendered, htmlProof: rendered.html === null ? null : html.prove(rendered.html) }
  await deps.store(proven)
  return proven
}
