import { newCompanySchema } from '../contracts/companies/settings.ts'
import { fieldProblems, REPORT_INPUT } from '../contracts/field-problems.ts'
import { RETRY_POLICY_NAMES } from '../contracts/retry.ts'
import { addCompany, changeCompany } from '../db/companies/changes.ts'
import { type Company, findCompany, listCompanies } from '../db/companies/companies.ts'
import { grantSqlAccess, withdrawSqlAccess } from '../db/companies/sql-access-changes.ts'
import type { Database } from '../db/pool.ts'
import { BY_REPUTATION, pauseManually, resumeManually } from '../feedback/reputation.ts'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  notFound,
  reading,
  required,
  text,
  UsageError,
  writing,
} from './command.ts'
import { changeOf } from './company-settings.ts'
import { removeParameter } from './db-shell.ts'
import { operator } from './operator.ts'

/** Makes the company's database role, or gives it a new password. */
async function giveSqlAccess(
  db: Database,
  { companyId, name }: Company,
  performedBy: string,
  databaseUrl: string,
): Promise<Answer> {
  const granted = await grantSqlAccess(db.pool, companyId, { performedBy })
  if (granted.kind === 'unsafe') throw new CommandFailed(granted.message, 'SQL_ACCESS_UNSAFE')
  const { role, password } = granted
  const url = urlOf(databaseUrl, role, password)
  if (granted.kind === 'statements') {
    const { statements: sql } = granted
    const intro = `This role may not create roles (CREATEROLE). Let an administrator of the server run in this database:`
    return {
      json: { companyId, name, role, password, url, created: false, sql },
      lines: [intro, '', ...sql.map(one => `${one};`), '', ...secretLines(role, password, url)],
    }
  }
  return {
    json: { companyId, name, role, password, url, created: true },
    lines: [`${name} may use the database as this role. See docs/sql.md.`, ...secretLines(role, password, url)],
  }
}

/** Of the same server and database, as this role. */
function urlOf(databaseUrl: string, role: string, password: string): string {
  const url = new URL(databaseUrl)
  for (const name of ['user', 'password']) removeParameter(url, name)
  url.username = role
  url.password = password
  return url.href
}

const secretLines = (role: string, password: string, url: string) => [
  `Role     ${role}`,
  `Password ${password}`,
  `URL      ${url}`,
  'The password is shown only this once; run the command again for another one.',
]

/** Removes the company's database role. Without CREATEROLE it stays, and may do nothing. */
async function removeSqlAccess(db: Database, { companyId, name }: Company, performedBy: string): Promise<Answer> {
  const { role, found, dropped } = await withdrawSqlAccess(db.pool, companyId, { performedBy })
  if (!found) throw notFound(`${name} has no database role.`)
  const line = dropped
    ? `Removed the role ${role} of ${name}.`
    : `The role ${role} of ${name} has no access any more. It stays because it owns something or this database may not drop roles; an administrator of the server can remove it with: drop owned by ${role}; drop role ${role};`
  return { json: { companyId, name, role, removed: dropped }, lines: [line] }
}

const SETTING_ACTIONS = ['create', 'update']

export const companyCommand: Command = {
  usage: [
    ['company create NAME [OPTIONS]', 'create a company and its first API key, which is shown only once'],
    ['company list', 'all companies with their settings'],
    ['company update ID|NAME [OPTIONS]', 'change the given settings and no others'],
    ['company pause ID|NAME [--reason TEXT]', 'stop sending its e-mails; they stay queued'],
    ['company resume ID|NAME [--reason TEXT]', 'send its e-mails again'],
    [
      'company sql-access ID|NAME [--revoke]',
      'make its database role, with a password that is shown only once; or remove it',
    ],
  ],
  words: { create: 1, list: 0, update: 1, pause: 1, resume: 1, 'sql-access': 1 },
  options: {
    weight: {
      type: 'string',
      value: 'N',
      help: 'its share of the sending capacity beside other companies, 1 to 100 (1)',
      actions: SETTING_ACTIONS,
    },
    rate: { type: 'string', value: 'N|none', help: 'its rate limit in e-mails per second', actions: SETTING_ACTIONS },
    'retry-policy': {
      type: 'string',
      value: `${RETRY_POLICY_NAMES.join('|')}|none`,
      help: 'the delays between attempts; none: the setting RETRY_POLICY',
      actions: SETTING_ACTIONS,
    },
    'from-domains': {
      type: 'string',
      value: 'A.COM,B.COM|none',
      help: 'the domains that it may use in From',
      actions: SETTING_ACTIONS,
    },
    from: {
      type: 'string',
      value: 'ADDRESS|none',
      help: 'the sender of its e-mails that name none, of one of its domains; none: the setting EMAIL_FROM',
      actions: SETTING_ACTIONS,
    },
    default: {
      type: 'boolean',
      help: 'update: e-mails that come by SQL without a company are its own',
      actions: ['update'],
    },
    revoke: { type: 'boolean', help: 'sql-access: remove the role', actions: ['sql-access'] },
    locale: {
      type: 'string',
      value: 'LOCALE',
      help: 'of its templates, when a request names none (pt-BR)',
      actions: SETTING_ACTIONS,
    },
    reason: {
      type: 'string',
      value: 'TEXT',
      help: 'pause and resume: why; written to the audit log',
      actions: ['pause', 'resume'],
    },
  },
  run({ words: [action, name], values }) {
    const act = actionOf(ACTIONS, action, 'company')
    if (act === ACTIONS.update && !CHANGES.some(option => values[option] !== undefined))
      throw new UsageError(`give what to change: ${CHANGES.map(option => `--${option}`).join(', ')}`)
    return act(name, values)
  },
}

/** The options that `update` takes. */
const CHANGES = Object.entries(companyCommand.options).flatMap(([name, { actions }]) =>
  actions?.includes('update') ? [name] : [],
)

type Action = (name: string | undefined, values: Input['values']) => Promise<Answer>

const ACTIONS: Record<'create' | 'list' | 'update' | 'pause' | 'resume' | 'sql-access', Action> = {
  create: writing(async ({ db, config }, given, values) => {
    const name = nameOf(given)
    const wanted = { name, ...changeOf(values) }
    const added = await addCompany(db, config.hashPepper, wanted, { performedBy: operator() })
    if (!added) throw new CommandFailed(`There is a company "${name}" already.`, 'COMPANY_EXISTS')
    const {
      apiKey,
      company: { companyId },
    } = added
    return {
      json: { companyId, name, apiKey },
      lines: [`Company ${name} (${companyId})`, `API key ${apiKey}`, 'The key is shown only this once.'],
    }
  }),
  list: reading(async ({ db }) => {
    const companies = await listCompanies(db.pool)
    return { json: { data: companies }, lines: companies.length > 0 ? companies.map(describe) : ['No companies yet.'] }
  }),
  update: writing(async ({ db }, given, values) => {
    const company = await requireCompany(db, given)
    const change = { ...changeOf(values, company), ...(values.default && { isDefault: true as const }) }
    await changeCompany(db.pool, company.companyId, change, { performedBy: operator() })
    return companyAnswer(db, company.companyId)
  }),
  pause: writing(async ({ db }, given, values) => {
    const { companyId, name, pausedAt, pausedBy, pauseReason } = await requireCompany(db, given)
    const newReason = text(values, 'reason')
    if (pausedBy === BY_REPUTATION)
      throw new CommandFailed(`${name} is paused already, for its reputation (${pauseReason}).`, 'PAUSED_BY_REPUTATION')
    const already = pausedAt && `${name} is paused already, since ${pausedAt.toISOString()}: ${pauseReason}`
    if (already && newReason === undefined)
      return companyAnswer(db, companyId, `${already}. Nothing was changed; --reason gives it another reason.`)
    const reason = newReason ?? 'paused from the command line'
    await pauseManually(db.pool, { companyId, reason, performedBy: operator() })
    return companyAnswer(db, companyId, already && `${already}. The reason is another one now.`)
  }),
  resume: writing(async ({ db }, given, values) => {
    const { companyId, name, pausedBy, pauseReason } = await requireCompany(db, given)
    const reason = text(values, 'reason')
    if (pausedBy === BY_REPUTATION && !reason?.trim())
      throw new UsageError(
        `${name} was paused for its reputation (${pauseReason}): give --reason and state what has changed`,
      )
    await resumeManually(db.pool, {
      companyId,
      reason: reason ?? 'resumed from the command line',
      performedBy: operator(),
    })
    return companyAnswer(db, companyId)
  }),
  'sql-access': writing(async ({ db, url }, given, values) => {
    const company = await requireCompany(db, given)
    const act = values.revoke ? removeSqlAccess : giveSqlAccess
    return act(db, company, operator(), url)
  }),
}

/** By the rules of the API. */
function nameOf(given: string | undefined): string {
  const parsed = newCompanySchema.shape.name.safeParse(required(given, 'NAME'), REPORT_INPUT)
  if (!parsed.success) throw new UsageError(`NAME: ${fieldProblems(parsed.error.issues)[0]!.message}`)
  return parsed.data
}

export async function requireCompany(db: Database, given: string | undefined): Promise<Company> {
  const idOrName = required(given, 'ID|NAME of the company')
  const company = await findCompany(db.pool, idOrName)
  if (!company) throw notFound(`There is no company "${idOrName}". List them with: email-gateway company list`)
  return company
}

/** `before`: what to say first. */
async function companyAnswer(db: Database, companyId: string, before?: string | null): Promise<Answer> {
  const company = (await findCompany(db.pool, companyId))!
  return { json: company, lines: [...(before ? [before] : []), describe(company)] }
}

function describe(company: Company): string {
  const facts = [
    `weight ${company.weight}`,
    `rate ${company.ratePerSecond === null ? 'unlimited' : `${company.ratePerSecond}/s`}`,
    `retry ${company.retryPolicy ?? 'default'}`,
    `from ${company.fromDomains.join(' ') || 'EMAIL_FROM only'}`,
    ...(company.defaultFrom ? [`default sender ${company.defaultFrom}`] : []),
    ...(company.isDefault ? ['default for SQL'] : []),
    ...(company.pausedAt ? [`PAUSED: ${company.pauseReason}`] : []),
  ]
  return `${company.companyId}  ${company.name}  (${facts.join(', ')})`
}
