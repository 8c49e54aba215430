import { requireCompany } from '../companies/command.ts'
import { listCompanies } from '../companies/companies.ts'
import { parseFromDomain } from '../companies/settings.ts'
import {
  type Answer,
  CommandFailed,
  command,
  notFound,
  operator,
  option,
  type Reading,
  required,
  UsageError,
  word,
} from '../console/command.ts'
import { capitalised } from '../console/words.ts'
import { type DnsRecord, ProviderDomainsFailed } from '../providers/domains.ts'
import { explainAws } from '../providers/ses/explain-aws.ts'
import { DEFAULT_SES_NAME, sesNames } from '../providers/ses/names.ts'
import { readInUse } from '../settings/processes.ts'
import { missingSetting } from '../settings/settings.ts'
import { addDomain, checkDomain, composeDomains, type DomainState } from './domains.ts'
import { findDomain, listDomains } from './stored.ts'

const DOMAIN = word('DOMAIN', given => {
  const parsed = parseFromDomain(given)
  if (!parsed.ok) throw new UsageError(`"${given}" ${parsed.problem}`)
  return parsed.value
})

const options = {
  company: option.text('ID|NAME', 'whose domain it is'),
  zone: option.flag('print the records as a zone file instead of a table'),
}

const notes = [
  'With Amazon SES and Resend the domain is created there. With SMTP there is nothing to create: the relay signs, and the domain is allowed at once.',
]

export const domainCommand = command({ name: 'domain', notes, options }, action => ({
  add: action(
    {
      words: [DOMAIN],
      form: '--company NAME [--zone]',
      what: 'create the domain at the provider and print the DNS records to publish',
      options: ['company', 'zone'],
      opens: 'writing',
    },
    async ({ words: [domain], options: { company, zone } }, opened) => {
      const { companyId, name } = await requireCompany(opened.db, required(company, '--company'))
      const deps = await depsOf(opened)
      const added = await asked(opened, () =>
        addDomain(deps, { companyId, domain, vouched: true }, { performedBy: operator() }),
      )
      if (added.kind === 'taken') throw taken(domain, added.by)
      if (added.kind === 'too-many')
        throw new CommandFailed(`${name} has the maximum number of domains.`, 'DOMAIN_LIMIT_REACHED')
      // With SMTP or capture nobody has to verify anything.
      if (added.state.atProviders.length > 0) return stateAnswer(added.state, zone)
      return checked(opened, added.state.row.domainId, companyId, zone)
    },
  ),

  list: action(
    {
      form: '[--company NAME]',
      what: 'the sender domains of one company, or of all',
      options: ['company'],
      opens: 'reading',
    },
    async ({ options: { company: name } }, { db }) => {
      const companyId = name === undefined ? null : (await requireCompany(db, name)).companyId
      const rows = await listDomains(db.pool, companyId)
      const managed = new Set(rows.map(({ companyId, domain }) => `${companyId} ${domain}`))
      const others = (await listCompanies(db.pool))
        .filter(company => companyId === null || company.companyId === companyId)
        .flatMap(company => company.fromDomains.map(domain => ({ company, domain })))
        .filter(({ company, domain }) => !managed.has(`${company.companyId} ${domain}`))
      const data = [
        ...rows.map(({ domain, companyName, verifiedAt, allowed }) => ({
          domain,
          company: companyName,
          state: !allowed
            ? 'not verified'
            : verifiedAt
              ? `verified ${verifiedAt.toISOString()}`
              : 'allowed by an administrator',
        })),
        ...others.map(({ company, domain }) => ({
          domain,
          company: company.name,
          state: 'allowed by an administrator',
        })),
      ]
      const lines = data.map(({ domain, company, state }) => `${domain}  ${company}  (${state})`)
      return { json: { data }, lines: lines.length > 0 ? lines : ['No domains yet.'] }
    },
  ),

  check: action(
    {
      words: [DOMAIN],
      form: '--company NAME [--zone]',
      what: 'look at DNS and at the provider; a verified domain may be used by the company from then on',
      options: ['company', 'zone'],
      opens: 'writing',
    },
    async ({ words: [domain], options: { company, zone } }, opened) => {
      const { companyId, name, fromDomains } = await requireCompany(opened.db, required(company, '--company'))
      const managed = await findDomain(opened.db.pool, companyId, domain)
      if (managed) return checked(opened, domain, companyId, zone)
      if (fromDomains.includes(domain)) return allowedByAdministrator(domain, name, zone)
      throw notFound(
        `${name} has no domain ${domain}. Add it with: email-gateway domain add ${domain} --company ${name}`,
      )
    },
  ),
}))

/** The providers are those of the running gateway; their credentials are those of this shell. */
async function depsOf({ db, config }: Reading) {
  const { providers } = await readInUse(db.pool, config)
  const ofDomains = providers.filter(entry => entry !== 'smtp')
  const missing = ofDomains.flatMap(entry => missingSetting(entry, config) ?? [])
  if (missing.length > 0)
    throw new CommandFailed(
      `The gateway sends with ${providers.join(', ')}, and ${missing.join(', ')} is not set in this shell.`,
      'BAD_SETTING',
    )
  return composeDomains(config, db, providers)
}

async function asked<T>({ config }: Reading, act: () => Promise<T>): Promise<T> {
  const names = sesNames(config.SES_CONFIGURATION_SET ?? DEFAULT_SES_NAME)
  try {
    return await explainAws({ region: config.AWS_REGION ?? 'REGION', account: 'ACCOUNT_ID', names }, [], act)
  } catch (error) {
    if (error instanceof ProviderDomainsFailed) throw new CommandFailed(error.message, 'PROVIDER_NOT_ASKED')
    throw error
  }
}

async function checked(opened: Reading, idOrName: string, companyId: string, zone: boolean): Promise<Answer> {
  const row = (await findDomain(opened.db.pool, companyId, idOrName))!
  const deps = await depsOf(opened)
  const outcome = await asked(opened, () => checkDomain(deps, row, { performedBy: operator() }))
  if (outcome.kind === 'taken') throw taken(row.domain, outcome.by)
  if (outcome.kind === 'gone') throw notFound(`${row.domain} was removed meanwhile.`)
  const { state } = outcome
  return { ...stateAnswer(state, zone), exitCode: state.allowed ? 0 : 1 }
}

/** Nobody asked for its records, so there is no state at a provider to compare with DNS. */
function allowedByAdministrator(domain: string, company: string, zone: boolean): Answer {
  if (zone) throw new CommandFailed(`${domain} has no records: ${toVerify(domain, company)}`, 'NOT_FOUND')
  return {
    json: { domainId: null, domain, company, allowed: true, atProviders: [], records: [] },
    lines: [
      `${company} may send from ${domain}: an administrator allowed it, so there is nothing to check.`,
      capitalised(toVerify(domain, company)),
    ],
  }
}

const toVerify = (domain: string, company: string) =>
  `to create it at the provider and check its DNS records, run: email-gateway domain add ${domain} --company ${company}`

const taken = (domain: string, by: string) =>
  new CommandFailed(
    `${domain} is a sender domain of the company ${by}. To share it, name it for both: email-gateway company update NAME --from-domains`,
    'DOMAIN_TAKEN',
  )

function stateAnswer({ row, records, atProviders, allowed }: DomainState, zone: boolean): Answer {
  const { domainId, domain, companyName: company } = row
  const standing = allowed
    ? `${company} may send from ${domain}.`
    : `${company} may not send from ${domain} yet. Publish the records, then run: email-gateway domain check ${domain} --company ${company}`
  const providers = atProviders.map(({ name, status }) => `${name}: ${status}`)
  const lines = zone ? zoneFile(domain, records) : [...recordTable(records), '', ...providers, standing]
  return { json: { domainId, domain, company, allowed, atProviders, records }, lines }
}

const TTL_SECONDS = 3600
/** Of one string in a TXT record. */
const TXT_CHARS = 255

/** Lines of a zone file, as name servers read them (RFC 1035). */
export function zoneFile(domain: string, records: readonly DnsRecord[]): string[] {
  return [
    `; ${domain}: records for Email Gateway`,
    ...records.flatMap(record => [...(record.required ? [] : ['; recommended']), zoneLine(record)]),
  ]
}

function zoneLine({ name, type, value, priority }: DnsRecord): string {
  const data = type === 'TXT' ? quoted(value) : `${type === 'MX' ? `${priority} ` : ''}${value}.`
  return `${name}. ${TTL_SECONDS} IN ${type} ${data}`
}

function quoted(value: string): string {
  const parts = value.match(new RegExp(`.{1,${TXT_CHARS}}`, 'g')) ?? ['']
  return parts.map(part => `"${part.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(' ')
}

type ShownRecord = DnsRecord & { state?: string }

/** Columns for a terminal. The value comes last: it may be long. */
export function recordTable(records: readonly ShownRecord[]): string[] {
  const rows = [
    ['FOR', 'TYPE', 'STATE', 'NAME', 'VALUE'],
    ...records.map(({ purpose, type, state, name, value, priority, required }) => [
      purpose,
      type,
      `${state ?? ''}${required ? '' : ' (recommended)'}`.trim(),
      name,
      priority === undefined ? value : `${priority} ${value}`,
    ]),
  ]
  const widths = rows[0]!.map((_cell, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
