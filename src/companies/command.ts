import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  type Answer,
  actionOf,
  type Command,
  CommandFailed,
  type Input,
  notFound,
  operator,
  reading,
  required,
  text,
  UsageError,
  writing,
} from '../console/command.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fieldProblems, REPORT_INPUT } from '../platform/text/refusal.ts'
import { childEnvironment } from '../settings/config.ts'
import { RETRY_POLICY_NAMES, type RetryPolicyName } from '../settings/retry.ts'
import { addCompany, changeCompany } from './changes.ts'
import { type Company, type CompanyChange, findCompany, listCompanies } from './companies.ts'
import { TEMPLATE_LOCALE } from './locale.ts'
import { BY_REPUTATION, pauseManually, resumeManually } from './reputation.ts'
import { COMPANY_LIMITS, newCompanySchema, parseDefaultFrom, parseFromDomain } from './settings.ts'
import { grantSqlAccess, withdrawSqlAccess } from './sql-access.ts'

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

const { WEIGHT, RATE_PER_SECOND } = COMPANY_LIMITS

type Senders = Pick<Company, 'fromDomains' | 'defaultFrom'>
const NONE_YET: Senders = { fromDomains: [], defaultFrom: null }

/** `known`: the sender domains and the default sender that the company has. */
export function changeOf(values: Input['values'], known = NONE_YET): CompanyChange {
  const change: CompanyChange = {}
  const [weight, rate, policy, domains, from] = ['weight', 'rate', 'retry-policy', 'from-domains', 'from'].map(name =>
    text(values, name),
  )
  if (weight !== undefined) change.weight = Math.floor(number(weight, '--weight', WEIGHT))
  if (rate !== undefined) change.ratePerSecond = rate === 'none' ? null : number(rate, '--rate', RATE_PER_SECOND)
  if (policy !== undefined) change.retryPolicy = policy === 'none' ? null : retryPolicy(policy)
  if (domains !== undefined) change.fromDomains = domains === 'none' ? [] : listOf(domains).map(domain)
  const locale = localeOf(values)
  if (locale !== undefined) change.locale = locale
  if (from !== undefined)
    change.defaultFrom = from === 'none' ? null : sender(from, change.fromDomains ?? known.fromDomains)
  else if (change.fromDomains && known.defaultFrom !== null) refuseToLose(known.defaultFrom, change.fromDomains)
  return change
}

/** The default sender has to be of one of the domains, whichever of the two is changed. */
function refuseToLose(defaultFrom: string, domains: readonly string[]): void {
  if (!parseDefaultFrom(defaultFrom, domains).ok)
    throw new UsageError(
      `--from-domains: its default sender ${defaultFrom} would be of none of its domains: give another with --from, or --from none`,
    )
}

export function localeOf(values: Input['values']): string | undefined {
  const given = text(values, 'locale')
  if (given !== undefined && !TEMPLATE_LOCALE.test(given))
    throw new UsageError('--locale must be a language, or a language and a country, such as en or pt-BR')
  return given
}

const listOf = (given: string) => given.split(',').filter(Boolean)

function number(given: string, option: string, { min, max }: { min: number; max: number }): number {
  const value = Number(given)
  if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a number from ${min} to ${max}`)
  return value
}

function retryPolicy(given: string): RetryPolicyName {
  if (!RETRY_POLICY_NAMES.includes(given as RetryPolicyName))
    throw new UsageError(`--retry-policy must be ${RETRY_POLICY_NAMES.join(', ')} or none`)
  return given as RetryPolicyName
}

function domain(given: string): string {
  const parsed = parseFromDomain(given)
  if (!parsed.ok) throw new UsageError(`--from-domains: "${given}" ${parsed.problem}`)
  return parsed.value
}

function sender(given: string, domains: readonly string[]): string {
  const parsed = parseDefaultFrom(given, domains)
  const hint = !parsed.ok && parsed.problem.endsWith('sender domains') ? '; add it with --from-domains' : ''
  if (!parsed.ok) throw new UsageError(`--from: ${parsed.problem}${hint}`)
  return parsed.value
}

/** Runs psql on this terminal until it exits. An embedded server runs for as long as the caller keeps its storage open. */
export async function openShell(url: string, args: string[]): Promise<Answer> {
  const { address, password } = withoutPassword(url)
  const env = childEnvironment(password === undefined ? {} : { PGPASSWORD: password })
  const child = spawn('psql', [address, ...args], { stdio: 'inherit', env })
  // Ctrl-C cancels a query in psql; it must not end this process.
  const ignore = () => {}
  process.on('SIGINT', ignore)
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return { json: null, lines: [], exitCode: code === 0 ? 0 : 1 }
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error
    throw new CommandFailed(
      'psql is not installed. Install it (Debian: apt-get install postgresql-client), or connect with another program to what this prints: email-gateway db url',
    )
  } finally {
    process.off('SIGINT', ignore)
  }
}

/** Every user of the machine can see arguments with `ps`, but not the environment. */
export function withoutPassword(url: string): { address: string; password: string | undefined } {
  const parsed = new URL(url)
  const password = parsed.searchParams.get('password') ?? decodeURIComponent(parsed.password)
  parsed.password = ''
  // uselibpqcompat is an option of node-postgres; psql refuses unknown options.
  for (const name of ['password', 'uselibpqcompat']) removeParameter(parsed, name)
  return { address: parsed.href, password: password === '' ? undefined : password }
}

/** URLSearchParams encodes a space as "+", which libpq reads as a plus sign. */
export function removeParameter(url: URL, name: string): void {
  if (!url.searchParams.has(name)) return
  url.searchParams.delete(name)
  url.search = url.search.replaceAll('+', '%20')
}
