import { readFile } from 'node:fs/promises'
import { localeOf, requireCompany } from '../companies/command.ts'
import type { Company } from '../companies/companies.ts'
import { CommandFailed, command, notFound, operator, option, UsageError, word } from '../console/command.ts'
import { checkHtml } from '../platform/html/rules.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { addDraft, createTemplate, publishVersion } from './changes.ts'
import { TEMPLATE_TYPE } from './limits.ts'
import { markupOf, problemsOfMarkup, variablesOf } from './markup.ts'
import { parseTemplate, type TemplateSource } from './parse.ts'
import { findOwnByType, findTemplate, findVersion, listTemplates } from './templates.ts'
import { TEMPLATES_PER_COMPANY, type TemplateView } from './view.ts'

const TYPE = word('TYPE', templateType)
const PATH = word('PATH', given => {
  const path = given.replace(/\.(html|txt)$/, '')
  return { path, type: templateType(path.split(/[/\\]/).at(-1)!) }
})

function templateType(given: string): string {
  if (TEMPLATE_TYPE.test(given)) return given
  throw new UsageError(`"${given}" cannot be a type: lower-case letters, digits, _ and -, at most 64`)
}

const options = {
  company: option.text('ID|NAME', 'the company (demo)'),
  locale: option.parsed('LOCALE', "the locale, such as en (the company's)", localeOf),
  subject: option.text('TEXT', 'push: the subject; needed for a new template'),
  version: option.parsed('N', 'show and publish: this version', (given, flag) => {
    if (!/^[1-9]\d{0,5}$/.test(given)) throw new UsageError(`${flag} must be a whole number`)
    return Number(given)
  }),
  publish: option.flag('push: put it into use at once'),
}

const DEMO = 'demo'

export const templateCommand = command({ name: 'template', options }, action => ({
  list: action(
    {
      form: '[--company ID|NAME]',
      what: 'its templates, and the starters that they do not replace',
      options: ['company'],
      opens: 'reading',
    },
    async ({ options: { company = DEMO } }, { db }) => {
      const { companyId } = await requireCompany(db, company)
      const templates = await listTemplates(db.pool, companyId)
      return { json: { data: templates }, lines: templates.map(lineOf) }
    },
  ),

  show: action(
    {
      words: [TYPE],
      form: '[--locale LOCALE] [--version N]',
      what: 'the content of a version, and the variables that it uses',
      options: ['company', 'locale', 'version'],
      opens: 'reading',
    },
    async ({ words: [type], options: { company = DEMO, locale, version: number } }, { db }) => {
      const owner = await requireCompany(db, company)
      const ofType = (await listTemplates(db.pool, owner.companyId)).filter(one => one.type === type)
      const wanted = locale ?? owner.locale
      const template = ofType.find(one => one.locale === wanted) ?? (locale === undefined ? ofType[0] : undefined)
      if (!template) throw noTemplate({ company, type, locale })
      // What is sent, unless another version is asked for.
      const version = await findVersion(db.pool, template.id, number ?? template.published)
      if (!version) throw notFound(`${type} has no version ${number}.`)
      const { subject, html, text, status, createdAt, createdBy } = version
      const variables = variablesOf(version)
      const lines = [
        `${type}  ${template.locale}  version ${version.number} (${status}, ${createdAt}, ${createdBy})`,
        `variables: ${variables.join(', ') || 'none'}`,
        `subject: ${subject}`,
        ...(html === null ? [] : ['', 'html:', html]),
        ...(text === null ? [] : ['', 'text:', text]),
      ]
      return { json: { ...template, version: { ...version, variables } }, lines }
    },
  ),

  push: action(
    {
      words: [PATH],
      form: '[--subject TEXT] [OPTIONS]',
      what: 'make a draft from PATH.html and PATH.txt; the type is the name of the files',
      options: ['company', 'locale', 'subject', 'publish'],
      opens: 'writing',
    },
    async ({ words: [{ path, type }], options: { company = DEMO, locale, subject, publish } }, { db }) => {
      const owner = await requireCompany(db, company)
      const wanted = { type, locale: locale ?? owner.locale }
      const existing = await findOwnByType(db.pool, owner.companyId, type, wanted.locale)
      const newest = existing && (await findVersion(db.pool, existing.id, null))
      const source = await readSource(path, subject ?? newest?.subject)
      const id = await (existing
        ? update(db, owner, existing, source, publish)
        : create(db, owner, { ...source, ...wanted, publish }))
      const template = (await findTemplate(db.pool, owner.companyId, id))!
      const state = template.draft === null ? `published as version ${template.published}` : `draft ${template.draft}`
      return { json: template, lines: [`${type}  ${wanted.locale}  ${state}`] }
    },
  ),

  publish: action(
    {
      words: [TYPE],
      form: '[--locale LOCALE] [--version N]',
      what: 'put the draft, or an older version, into use',
      options: ['company', 'locale', 'version'],
      opens: 'writing',
    },
    async ({ words: [type], options: { company = DEMO, locale, version: number = null } }, { db }) => {
      const owner = await requireCompany(db, company)
      const wanted = locale ?? owner.locale
      const template = await findOwnByType(db.pool, owner.companyId, type, wanted)
      if (!template) {
        const listed = await listTemplates(db.pool, owner.companyId)
        const isStarter = listed.some(one => one.starter && one.type === type && one.locale === wanted)
        throw isStarter ? starterOf({ company, type, locale }) : noTemplate({ company, type, locale })
      }
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
    },
  ),
}))

function lineOf({ type, locale, starter, published, draft }: TemplateView): string {
  const state = [
    ...(starter ? ['starter'] : []),
    ...(published === null ? ['not published'] : starter ? [] : [`version ${published}`]),
    ...(draft === null ? [] : [`draft ${draft}`]),
  ]
  return `${type}  ${locale}  (${state.join(', ')})`
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

const authorOf = ({ companyId }: Company) => ({ companyId, performedBy: operator() })

async function create(db: Database, owner: Company, template: Parameters<typeof createTemplate>[2]): Promise<string> {
  const outcome = await createTemplate(db.pool, authorOf(owner), template)
  if (outcome.kind === 'limit')
    throw new CommandFailed(`A company has at most ${TEMPLATES_PER_COMPANY} templates.`, 'TEMPLATE_LIMIT_REACHED')
  if (outcome.kind === 'exists')
    throw new CommandFailed('It has just been created by somebody else; push it again.', 'TEMPLATE_EXISTS')
  return outcome.id
}

async function update(db: Database, owner: Company, { id }: TemplateView, source: TemplateSource, publish: boolean) {
  const number = await addDraft(db.pool, authorOf(owner), id, source)
  if (publish) await publishVersion(db.pool, authorOf(owner), id, number)
  return id
}

type Choice = { company: string; type: string; locale: string | undefined }

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
