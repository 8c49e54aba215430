import { domainToASCII } from 'node:url'
import { formatAddress, parseAddress } from '../contracts/addresses.ts'
import { MAX_LINK_SCHEMES, parseLinkScheme } from '../contracts/html/link-schemes.ts'
import { RETRY_POLICY_NAMES, type RetryPolicyName } from '../contracts/retry.ts'
import { TEMPLATE_LOCALE } from '../contracts/templates/limits.ts'
import type { CompanyChange } from '../db/companies/companies.ts'
import { type Input, text, UsageError } from './command.ts'

/** `known`: the sender domains that the company has. */
export function changeOf(values: Input['values'], known: readonly string[]): CompanyChange {
  const change: CompanyChange = {}
  const [weight, rate, policy, domains, schemes, from] = [
    'weight',
    'rate',
    'retry-policy',
    'from-domains',
    'link-schemes',
    'from',
  ].map(name => text(values, name))
  if (weight !== undefined) change.weight = number(weight, '--weight', 1, 100)
  if (rate !== undefined) change.ratePerSecond = rate === 'none' ? null : number(rate, '--rate', 0.01, 1_000_000)
  if (policy !== undefined) change.retryPolicy = policy === 'none' ? null : retryPolicy(policy)
  if (domains !== undefined) change.fromDomains = domains.split(',').filter(Boolean).map(domain)
  const locale = localeOf(values)
  if (locale !== undefined) change.locale = locale
  if (schemes !== undefined) change.linkSchemes = schemes === 'none' ? [] : linkSchemes(schemes)
  if (from !== undefined) change.defaultFrom = from === 'none' ? null : sender(from, change.fromDomains ?? known)
  return change
}

export function localeOf(values: Input['values']): string | undefined {
  const given = text(values, 'locale')
  if (given !== undefined && !TEMPLATE_LOCALE.test(given))
    throw new UsageError('--locale must be a language, or a language and a country, such as en or pt-BR')
  return given
}

function number(given: string, option: string, min: number, max: number): number {
  const value = Number(given)
  if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a number from ${min} to ${max}`)
  return option === '--weight' ? Math.floor(value) : value
}

function retryPolicy(given: string): RetryPolicyName {
  if (!RETRY_POLICY_NAMES.includes(given as RetryPolicyName))
    throw new UsageError(`--retry-policy must be ${RETRY_POLICY_NAMES.join(', ')} or none`)
  return given as RetryPolicyName
}

function linkSchemes(given: string): string[] {
  const schemes = given
    .split(',')
    .filter(Boolean)
    .map(text => {
      const parsed = parseLinkScheme(text)
      if (!parsed.ok) throw new UsageError(`--link-schemes: "${text}" ${parsed.problem}`)
      return parsed.scheme
    })
  const distinct = [...new Set(schemes)]
  if (distinct.length > MAX_LINK_SCHEMES) throw new UsageError(`--link-schemes: at most ${MAX_LINK_SCHEMES}`)
  return distinct
}

function domain(given: string): string {
  const ascii = domainToASCII(given.trim().toLowerCase())
  if (!/^([a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}$/.test(ascii))
    throw new UsageError(`--from-domains: "${given}" is not a domain`)
  return ascii
}

function sender(given: string, domains: readonly string[]): string {
  const parsed = parseAddress(given)
  if (!parsed.ok) throw new UsageError(`--from: ${parsed.problem.message}`)
  if (!domains.includes(parsed.value.domain))
    throw new UsageError(`--from: ${parsed.value.domain} is not one of its sender domains; add it with --from-domains`)
  return formatAddress(parsed.value)
}
