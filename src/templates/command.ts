import { localeOf, requireCompany } from '../companies/command.ts'
import {
  type Answer,
  actionOf,
  type Command,
  type Input,
  reading,
  required,
  text,
  UsageError,
} from '../console/command.ts'
import { TEMPLATE_TYPE } from './limits.ts'
import { listTemplates } from './templates.ts'
import type { TemplateView } from './view.ts'

export const templateCommand: Command = {
  usage: [
    ['template list [--company ID|NAME]', 'its templates, and the starters that they do not replace'],
    ['template show TYPE [--locale LOCALE] [--version N]', 'the content of a version, and the variables that it uses'],
    [
      'template push PATH [--subject TEXT] [OPTIONS]',
      'make a draft from PATH.html and PATH.txt; the type is the name of the files',
    ],
    ['template publish TYPE [--locale LOCALE] [--version N]', 'put the draft, or an older version, into use'],
  ],
  words: { list: 0, show: 1, push: 1, publish: 1 },
  options: {
    company: { type: 'string', value: 'ID|NAME', help: 'the company (demo)' },
    locale: {
      type: 'string',
      value: 'LOCALE',
      help: "the locale, such as en (the company's)",
      actions: ['show', 'push', 'publish'],
    },
    subject: { type: 'string', value: 'TEXT', help: 'push: the subject; needed for a new template', actions: ['push'] },
    version: { type: 'string', value: 'N', help: 'show and publish: this version', actions: ['show', 'publish'] },
    publish: { type: 'boolean', help: 'push: put it into use at once', actions: ['push'] },
  },
  run: ({ words: [action, word], values }) => actionOf(ACTIONS, action, 'template')(values, word)(),
}

/** Checks the arguments; the function that it returns opens the database. */
type Action = (values: Input['values'], word: string | undefined) => () => Promise<Answer>

const list: Action = values => {
  return reading(async ({ db }) => {
    const { companyId } = await requireCompany(db, companyOf(values))
    const templates = await listTemplates(db.pool, companyId)
    return { json: { data: templates }, lines: templates.map(lineOf) }
  })
}

function lineOf({ type, locale, starter, published, draft }: TemplateView): string {
  const state = [
    ...(starter ? ['starter'] : []),
    ...(published === null ? ['not published'] : starter ? [] : [`version ${published}`]),
    ...(draft === null ? [] : [`draft ${draft}`]),
  ]
  return `${type}  ${locale}  (${state.join(', ')})`
}

// The template engine is loaded where it is used: it would delay the start of every other command.
const show: Action = (values, word) => {
  const wanted = { ...choiceOf(values, word), number: numberOf(values) }
  return async () => (await import('./command-actions.ts')).showTemplate(wanted)
}

const push: Action = (values, word) => {
  const path = required(word, 'PATH').replace(/\.(html|txt)$/, '')
  const type = path.split(/[/\\]/).at(-1)!
  const wanted = choiceOf(values, type)
  const pushed = { path, subject: text(values, 'subject'), publish: values.publish === true }
  return async () => (await import('./command-actions.ts')).pushTemplate(wanted, pushed)
}

const publish: Action = (values, word) => {
  const wanted = { ...choiceOf(values, word), number: numberOf(values) }
  return async () => (await import('./command-actions.ts')).publishTemplate(wanted)
}

const ACTIONS = { list, show, push, publish }

export type Choice = { company: string; type: string; locale: string | undefined }

function choiceOf(values: Input['values'], word: string | undefined): Choice {
  const type = required(word, 'TYPE')
  if (!TEMPLATE_TYPE.test(type))
    throw new UsageError(`"${type}" cannot be a type: lower-case letters, digits, _ and -, at most 64`)
  const locale = text(values, 'locale')
  return { company: companyOf(values), type, locale: locale === undefined ? undefined : localeOf(locale) }
}

const companyOf = (values: Input['values']) => text(values, 'company') ?? 'demo'

function numberOf(values: Input['values']): number | null {
  const given = text(values, 'version')
  if (given === undefined) return null
  if (!/^[1-9]\d{0,5}$/.test(given)) throw new UsageError('--version must be a whole number')
  return Number(given)
}
