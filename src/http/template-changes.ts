import {
  type NewTemplate,
  TEMPLATES_PER_COMPANY,
  type TemplateChange,
  type TemplateView,
} from '../contracts/templates/view.ts'
import type { Database } from '../db/pool.ts'
import { addDraft, createTemplate, publishVersion, type TemplateAuthor } from '../db/templates/changes.ts'
import { findTemplate, findVersion } from '../db/templates/templates.ts'
import type { HtmlChecker } from '../sending/html-check.ts'
import { Problem } from './problem.ts'
import { refuseUnusable } from './template-access.ts'

export type TemplateChangeDeps = { db: Database; accept: { html: HtmlChecker } }

/** The changes of templates that API keys and administrators make. */
export async function createFrom(
  body: NewTemplate,
  author: TemplateAuthor,
  { db, accept }: TemplateChangeDeps,
): Promise<TemplateView> {
  const { type, locale = null, subject, html = null, text = null, publish } = body
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  const template = { type, locale, subject, html, text, publish }
  const outcome = await createTemplate(db.pool, author, template, TEMPLATES_PER_COMPANY)
  if (outcome.kind === 'exists')
    throw new Problem('TEMPLATE_EXISTS', { detail: `There is a template ${type} in this locale; change it instead.` })
  if (outcome.kind === 'limit')
    throw new Problem('TEMPLATE_LIMIT_REACHED', { detail: `A company has at most ${TEMPLATES_PER_COMPANY} templates.` })
  return findOrProblem(outcome.id, author, db)
}

/** From the newest version and these changes. */
export async function saveDraft(
  id: string,
  change: TemplateChange,
  author: TemplateAuthor,
  { db, accept }: TemplateChangeDeps,
): Promise<TemplateView> {
  const newest = await findVersion(db.pool, id, null)
  const { subject = newest!.subject, html = newest!.html, text = newest!.text } = change
  await refuseUnusable({ subject, html, text }, author.companyId, accept.html)
  if ((await addDraft(db.pool, author, id, { subject, html, text })) === null) throw new Problem('NOT_FOUND')
  return findOrProblem(id, author, db)
}

/** version null: the draft. */
export async function publishOf(
  id: string,
  version: number | null,
  author: TemplateAuthor,
  db: Database,
): Promise<TemplateView> {
  if ((await publishVersion(db.pool, author, id, version)) === null)
    throw new Problem('NOTHING_TO_PUBLISH', {
      detail: version === null ? 'The template has no draft.' : `The template has no version ${version}.`,
    })
  return findOrProblem(id, author, db)
}

async function findOrProblem(id: string, { companyId }: TemplateAuthor, db: Database): Promise<TemplateView> {
  const template = await findTemplate(db.pool, companyId, id)
  if (!template) throw new Problem('NOT_FOUND')
  return template
}
