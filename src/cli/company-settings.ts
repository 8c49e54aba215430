import { COMPANY_LIMITS, parseDefaultFrom, parseFromDomain } from '../contracts/companies/settings.ts'
import { RETRY_POLICY_NAMES, type RetryPolicyName } from '../contracts/retry.ts'
import { TEMPLATE_LOCALE } from '../contracts/templates/limits.ts'
import type { Company, CompanyChange } from '../db/companies/companies.ts'
import { type Input, text, UsageError } from './command.ts'

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
