import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  type ActionInput,
  type Answer,
  CommandFailed,
  command,
  notFound,
  operator,
  option,
  required,
  UsageError,
  word,
} from '../console/command.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fieldProblems, REPORT_INPUT } from '../platform/text/refusal.ts'
import { childEnvironment } from '../settings/config.ts'
import { RETRY_POLICY_NAMES, type RetryPolicyName } from '../settings/retry.ts'
import { SCOPES, type Scope } from '../web/access.ts'
import { addCompany, changeCompany, issueKey, withdrawKey } from './changes.ts'
import { type Company, type CompanyChange, findCompany, listCompanies } from './companies.ts'
import { keyExists, listKeys } from './keys.ts'
import { BY_REPUTATION, pauseManually, resumeManually } from './reputation.ts'
import { COMPANY_LIMITS, newCompanySchema, parseDefaultFrom, parseFromDomain, TEMPLATE_LOCALE } from './settings.ts'
import { grantSqlAccess, withdrawSqlAccess } from './sql-access.ts'

/** `none` takes the setting away. */
const orNone =
  <T>(parse: (given: string) => T) =>
  (given: string): T | null =>
    given === 'none' ? null : parse(given)

/** By the rules of the API. */
const NAME = word('NAME', given => {
  const parsed = newCompanySchema.shape.name.safeParse(given, REPORT_INPUT)
  if (!parsed.success) throw new UsageError(`NAME: ${fieldProblems(parsed.error.issues)[0]!.message}`)
  return parsed.data
})

const { WEIGHT, RATE_PER_SECOND } = COMPANY_LIMITS

const companyOptions = {
  weight: option.parsed('N', 'its share of the sending capacity beside other companies, 1 to 100 (1)', given =>
    Math.floor(number(given, '--weight', WEIGHT)),
  ),
  rate: option.parsed(
    'N|none',
    'its rate limit in e-mails per second',
    orNone(given => number(given, '--rate', RATE_PER_SECOND)),
  ),
  'retry-policy': option.parsed(
    `${RETRY_POLICY_NAMES.join('|')}|none`,
    'the delays between attempts; none: the setting RETRY_POLICY',
    orNone(retryPolicy),
  ),
  'from-domains': option.parsed('A.COM,B.COM|none', 'the domains that it may use in From', given =>
    given === 'none' ? [] : given.split(',').filter(Boolean).map(domain),
  ),
  from: option.text(
    'ADDRESS|none',
    'the sender of its e-mails that name none, of one of its domains; none: the setting EMAIL_FROM',
  ),
  default: option.flag('update: e-mails that come by SQL without a company are its own'),
  revoke: option.flag('sql-access: remove the role'),
  locale: option.parsed('LOCALE', 'of its templates, when a request names none (pt-BR)', localeOf),
  reason: option.text('TEXT', 'pause and resume: why; written to the audit log'),
}

const SETTINGS = ['weight', 'rate', 'retry-policy', 'from-domains', 'from', 'locale'] as const
const CHANGES = ['weight', 'rate', 'retry-policy', 'from-domains', 'from', 'default', 'locale'] as const

export const companyCommand = command({ name: 'company', options: companyOptions }, action => ({
  create: action(
    {
      words: [NAME],
      form: '[OPTIONS]',
      what: 'create a company and its first API key, which is shown only once',
      options: SETTINGS,
      opens: 'writing',
    },
    async ({ words: [name], options }, { db, config }) => {
      const wanted = { name, ...changeOf(options, { fromDomains: [], defaultFrom: null }) }
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
    },
  ),

  list: action({ what: 'all companies with their settings', opens: 'reading' }, async (_, { db }) => {
    const companies = await listCompanies(db.pool)
    return { json: { data: companies }, lines: companies.length > 0 ? companies.map(describe) : ['No companies yet.'] }
  }),

  update: action(
    {
      words: ['ID|NAME'],
      form: '[OPTIONS]',
      what: 'change the given settings and no others',
      options: CHANGES,
      opens: 'writing',
      check: ({ options }) => {
        if (CHANGES.every(name => options[name] === undefined || options[name] === false))
          throw new UsageError(`give what to change: ${CHANGES.map(name => `--${name}`).join(', ')}`)
      },
    },
    async ({ words: [idOrName], options }, { db }) => {
      const company = await requireCompany(db, idOrName)
      const change = { ...changeOf(options, company), isDefault: options.default }
      await changeCompany(db.pool, company.companyId, change, { performedBy: operator() })
      return companyAnswer(db, company.companyId)
    },
  ),

  pause: action(
    {
      words: ['ID|NAME'],
      form: '[--reason TEXT]',
      what: 'stop sending its e-mails; they stay queued',
      options: ['reason'],
      opens: 'writing',
    },
    async ({ words: [idOrName], options: { reason } }, { db }) => {
      const { companyId, name, pausedAt, pausedBy, pauseReason } = await requireCompany(db, idOrName)
      if (pausedBy === BY_REPUTATION)
        throw new CommandFailed(
          `${name} is paused already, for its reputation (${pauseReason}).`,
          'PAUSED_BY_REPUTATION',
        )
      const already = pausedAt && `${name} is paused already, since ${pausedAt}: ${pauseReason}`
      if (already && reason === undefined)
        return companyAnswer(db, companyId, `${already}. Nothing was changed; --reason gives it another reason.`)
      const change = { companyId, reason: reason ?? 'paused from the command line', performedBy: operator() }
      await pauseManually(db.pool, change)
      return companyAnswer(db, companyId, already && `${already}. The reason is another one now.`)
    },
  ),

  resume: action(
    {
      words: ['ID|NAME'],
      form: '[--reason TEXT]',
      what: 'send its e-mails again',
      options: ['reason'],
      opens: 'writing',
    },
    async ({ words: [idOrName], options: { reason } }, { db }) => {
      const { companyId, name, pausedBy, pauseReason } = await requireCompany(db, idOrName)
      if (pausedBy === BY_REPUTATION && !reason?.trim())
        throw new UsageError(
          `${name} was paused for its reputation (${pauseReason}): give --reason and state what has changed`,
        )
      const change = { companyId, reason: reason ?? 'resumed from the command line', performedBy: operator() }
      await resumeManually(db.pool, change)
      return companyAnswer(db, companyId)
    },
  ),

  'sql-access': action(
    {
      words: ['ID|NAME'],
      form: '[--revoke]',
      what: 'make its database role, with a password that is shown only once; or remove it',
      options: ['revoke'],
      opens: 'writing',
    },
    async ({ words: [idOrName], options: { revoke } }, { db, url }) => {
      const company = await requireCompany(db, idOrName)
      return revoke ? removeSqlAccess(db, company) : giveSqlAccess(db, company, url)
    },
  ),
}))

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

type SettingOptions = ActionInput<typeof companyOptions, [], (typeof SETTINGS)[number]>['options']

/** `known`: the sender domains and the default sender that the company has. The default sender has to be of one of the domains. */
function changeOf(
  { weight, rate, 'retry-policy': retryPolicy, 'from-domains': fromDomains, from, locale }: SettingOptions,
  known: Pick<Company, 'fromDomains' | 'defaultFrom'>,
): CompanyChange {
  const { defaultFrom } = known
  if (from === undefined && fromDomains && defaultFrom !== null && !parseDefaultFrom(defaultFrom, fromDomains).ok)
    throw new UsageError(
      `--from-domains: its default sender ${defaultFrom} would be of none of its domains: give another with --from, or --from none`,
    )
  const change: CompanyChange = { weight, ratePerSecond: rate, retryPolicy, fromDomains, locale }
  if (from !== undefined) change.defaultFrom = from === 'none' ? null : sender(from, fromDomains ?? known.fromDomains)
  return change
}

export function localeOf(given: string): string {
  if (TEMPLATE_LOCALE.test(given)) return given
  throw new UsageError('--locale must be a language, or a language and a country, such as en or pt-BR')
}

function number(given: string, option: string, { min, max }: { min: number; max: number }): number {
  const value = Number(given)
  if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a number from ${min} to ${max}`)
  return value
}

function retryPolicy(given: string): RetryPolicyName {
  const policy = RETRY_POLICY_NAMES.find(name => name === given)
  if (!policy) throw new UsageError(`--retry-policy must be ${RETRY_POLICY_NAMES.join(', ')} or none`)
  return policy
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

/** Makes the company's database role, or gives it a new password. */
async function giveSqlAccess(db: Database, { companyId, name }: Company, databaseUrl: string): Promise<Answer> {
  const granted = await grantSqlAccess(db.pool, companyId, { performedBy: operator() })
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
async function removeSqlAccess(db: Database, { companyId, name }: Company): Promise<Answer> {
  const { role, found, dropped } = await withdrawSqlAccess(db.pool, companyId, { performedBy: operator() })
  if (!found) throw notFound(`${name} has no database role.`)
  const line = dropped
    ? `Removed the role ${role} of ${name}.`
    : `The role ${role} of ${name} has no access any more. It stays because it owns something or this database may not drop roles; an administrator of the server can remove it with: drop owned by ${role}; drop role ${role};`
  return { json: { companyId, name, role, removed: dropped }, lines: [line] }
}

const keyOptions = {
  company: option.text('ID|NAME', 'the company of the key'),
  test: option.flag('create a test key: its e-mails are never sent to a provider'),
  scopes: option.parsed(SCOPES.join(','), 'what the key may do (all)', scopesOf),
  name: option.text('TEXT', 'a description'),
}

export const keyCommand = command({ name: 'key', options: keyOptions }, action => ({
  create: action(
    {
      form: '--company ID|NAME [OPTIONS]',
      what: 'create an API key, which is shown only once',
      options: ['company', 'test', 'scopes', 'name'],
      opens: 'writing',
    },
    async ({ options: { company, test, scopes = [...SCOPES], name = null } }, { db, config }) => {
      const { companyId } = await requireCompany(db, company)
      const wanted = { companyId, mode: test ? ('test' as const) : ('live' as const), scopes, name }
      const key = await issueKey(db.pool, config.hashPepper, wanted, { performedBy: operator() })
      return { json: key, lines: [`Key ${key.keyId}`, `API key ${key.apiKey}`, 'The key is shown only this once.'] }
    },
  ),

  list: action(
    {
      form: '[--company ID|NAME]',
      what: 'all keys, without their secrets',
      options: ['company'],
      opens: 'reading',
    },
    async ({ options: { company } }, { db }) => {
      const keys = await listKeys(db.pool, company ? (await requireCompany(db, company)).companyId : null)
      const lines = keys.map(key => {
        const state = key.revokedAt ? 'REVOKED' : `last used ${key.lastUsedAt ?? 'never'}`
        return `sk_${key.mode}_${key.keyId}_…  company ${key.companyName} (${key.companyId})  ${key.scopes.join(',')}  ${state}${key.name ? `  ${key.name}` : ''}`
      })
      return { json: { data: keys }, lines: lines.length > 0 ? lines : ['No keys yet.'] }
    },
  ),

  revoke: action(
    { words: ['KEY_ID'], what: 'revoke a key; every process refuses it within a second', opens: 'writing' },
    async ({ words: [given] }, { db }) => {
      // Accepts the whole key as well; its id is the middle part.
      const keyId = given.replace(/^sk_(live|test)_([0-9a-z]+)(_.*)?$/, '$2')
      const revoked = await withdrawKey(db.pool, keyId, {}, { performedBy: operator() })
      if (!revoked && !(await keyExists(db.pool, keyId)))
        throw notFound(`There is no key ${keyId}. List them with: email-gateway key list`)
      return {
        json: { keyId, revoked: true },
        lines: [`Key ${keyId} is revoked; every process refuses it within a second.`],
      }
    },
  ),
}))

function scopesOf(given: string): Scope[] {
  const scopes = given.split(',').map(scope => scope.trim())
  if (!scopes.every(scope => SCOPES.includes(scope as Scope)))
    throw new UsageError(`--scopes must be some of ${SCOPES.join(',')}`)
  return scopes as Scope[]
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
function removeParameter(url: URL, name: string): void {
  if (!url.searchParams.has(name)) return
  url.searchParams.delete(name)
  url.search = url.search.replaceAll('+', '%20')
}
