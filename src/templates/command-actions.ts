import { readFile } from 'node:fs/promises'
import { requireCompany } from '../companies/command.ts'
import type { Company } from '../companies/companies.ts'
import {
  type Answer,
  CommandFailed,
  notFound,
  operator,
  UsageError,
  withStorage,
  withStorageToRead,
} from '../console/command.ts'
import { checkHtml } from '../platform/html/rules.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { addDraft, createTemplate, publishVersion, type TemplateAuthor } from './changes.ts'
import type { Choice } from './command.ts'
import { markupOf, problemsOfMarkup, usedVariables } from './markup.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { findOwnByType, findTemplate, findVersion, listTemplates } from './templates.ts'
import { TEMPLATES_PER_COMPANY, type TemplateView } from './view.ts'

type Numbered = Choice & { number: number | null }

export function showTemplate({ company, type, locale, number }: Numbered): Promise<Answer> {
  return withStorageToRead(async ({ db }) => {
    const owner = await requireCompany(db, company)
    const ofType = (await listTemplates(db.pool, owner.companyId)).filter(one => one.type === type)
    const wanted = locale ?? owner.locale
    const template = ofType.find(one => one.locale === wanted) ?? (locale === undefined ? ofType[0] : undefined)
    if (!template) throw noTemplate({ company, type, locale })
    // What is sent, unless another version is asked for.
    const version = await findVersion(db.pool, template.id, number ?? template.published)
    if (!version) throw notFound(`${type} has no version ${number}.`)
    const variables = [version.subject, version.html ?? '', version.text ?? ''].flatMap(usedVariables)
    const json = { ...template, version: { ...version, variables: [...new Set(variables)].sort() } }
    return { json, lines: linesOf(json) }
  })
}

function linesOf({ type, locale, version }: TemplateView & { version: TemplateSource & VersionFacts }): string[] {
  return [
    `${type}  ${locale}  version ${version.number} (${version.status}, ${version.createdAt}, ${version.createdBy})`,
    `variables: ${version.variables.join(', ') || 'none'}`,
    `subject: ${version.subject}`,
    ...(version.html === null ? [] : ['', 'html:', version.html]),
    ...(version.text === null ? [] : ['', 'text:', version.text]),
  ]
}

type VersionFacts = { number: number; status: string; createdAt: string; createdBy: string; variables: string[] }

export function pushTemplate(
  choice: Choice,
  { path, subject, publish }: { path: string; subject: string | undefined; publish: boolean },
): Promise<Answer> {
  return withStorage(async ({ db }) => {
    const owner = await requireCompany(db, choice.company)
    const locale = choice.locale ?? owner.locale
    const existing = await findOwnByType(db.pool, owner.companyId, choice.type, locale)
    const newest = existing && (await findVersion(db.pool, existing.id, null))
    const source = await readSource(path, subject ?? newest?.subject)
    const template = existing
      ? await update(db, authorOf(owner), existing, source, publish)
      : await create(db, authorOf(owner), { ...source, type: choice.type, locale, publish })
    const state = template.draft === null ? `published as version ${template.published}` : `draft ${template.draft}`
    return { json: template, lines: [`${template.type}  ${locale}  ${state}`] }
  })
}

async function readSource(path: string, subject: string | undefined): Promise<TemplateSource> {
  const [html, text] = await Promise.all([readIfThere(`${path}.html`), readIfThere(`${path}.txt`)])
  if (html === null && text === null) throw new CommandFailed(`There is neither ${path}.html nor ${path}.txt.`)
  if (subject === undefined) throw new UsageError('A new template needs --subject TEXT.')
  const parsed = parseTemplate({ subject, html, text })
  const inMarkup = html === null ? [] : problemsOfMarkup(checkHtml(markupOf(html)))
  const problems = parsed.ok ? inMarkup : parsed.problems
  if (problems.length === 0) return { subject, html, text }
  throw new CommandFailed(
    problems.map(({ path: part, message }) => `${part}: ${message}`).join('; '),
    'INVALID_TEMPLATE',
  )
}

async function readIfThere(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new CommandFailed(`${file} cannot be read: ${(error as Error).message}`)
  }
}

type NewTemplate = Parameters<typeof createTemplate>[2]

async function create(db: Database, author: TemplateAuthor, template: NewTemplate): Promise<TemplateView> {
  const outcome = await createTemplate(db.pool, author, template, TEMPLATES_PER_COMPANY)
  if (outcome.kind === 'limit')
    throw new CommandFailed(`A company has at most ${TEMPLATES_PER_COMPANY} templates.`, 'TEMPLATE_LIMIT_REACHED')
  if (outcome.kind === 'exists')
    throw new CommandFailed('It has just been created by somebody else; push it again.', 'TEMPLATE_EXISTS')
  return (await findTemplate(db.pool, author.companyId, outcome.id))!
}

async function update(
  db: Database,
  author: TemplateAuthor,
  { id }: TemplateView,
  source: TemplateSource,
  publish: boolean,
): Promise<TemplateView> {
  const number = await addDraft(db.pool, author, id, source)
  if (publish) await publishVersion(db.pool, author, id, number)
  return (await findTemplate(db.pool, author.companyId, id))!
}

export function publishTemplate(choice: Numbered): Promise<Answer> {
  const { company, type, locale, number } = choice
  return withStorage(async ({ db }) => {
    const owner = await requireCompany(db, company)
    const template = await findOwnByType(db.pool, owner.companyId, type, locale ?? owner.locale)
    if (!template) throw (await isStarter(db, owner, choice)) ? starterOf(choice) : noTemplate(choice)
    const published = await publishVersion(db.pool, authorOf(owner), template.id, number)
    if (published === null)
      throw new CommandFailed(
        number === null ? `${type} has no draft.` : `${type} has no version ${number}.`,
        'NOTHING_TO_PUBLISH',
      )
    return {
      json: { ...template, published },
      lines: [`${type}  ${template.locale}  published as version ${published}`],
    }
  })
}

const authorOf = ({ companyId }: Company): TemplateAuthor => ({ companyId, performedBy: operator() })

async function isStarter(db: Database, owner: Company, { type, locale }: Choice): Promise<boolean> {
  const listed = await listTemplates(db.pool, owner.companyId)
  return listed.some(one => one.starter && one.type === type && one.locale === (locale ?? owner.locale))
}

function starterOf({ company, type, locale }: Choice): CommandFailed {
  const options = `--company ${company}${locale === undefined ? '' : ` --locale ${locale}`}`
  return new CommandFailed(
    `${type} is a starter: it is in use already and cannot be changed. To replace it, write ${type}.html or ${type}.txt (see the starter with: email-gateway template show ${type} ${options}), then run: email-gateway template push ${type} --subject TEXT --publish ${options}`,
    'TEMPLATE_IS_STARTER',
  )
}

function noTemplate({ company, type, locale }: Choice): CommandFailed {
  const where = locale === undefined ? '' : ` in ${locale}`
  return notFound(
    `${company} has no template ${type}${where}. List them with: email-gateway template list --company ${company}`,
  )
}
