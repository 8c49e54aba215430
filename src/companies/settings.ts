import { domainToASCII } from 'node:url'
import { z } from 'zod'
import { justificationSchema } from '../audit/justification.ts'
import { formatAddress, NOT_IN_DOMAIN, parseAddress } from '../platform/text/addresses.ts'
import { RETRY_POLICY_NAMES } from '../settings/retry.ts'

/** Such as `pt-BR` or `en`. */
export const TEMPLATE_LOCALE = /^[a-z]{2,3}(-[A-Z]{2})?$/

export const DEFAULT_LOCALE = 'pt-BR'

export const localeSchema = z
  .string()
  .regex(TEMPLATE_LOCALE, 'must be a language, or a language and a country, such as en or pt-BR')
  .meta({ examples: ['pt-BR'] })

export const COMPANY_LIMITS = {
  NAME_CHARS: 100,
  WEIGHT: { min: 1, max: 100 },
  RATE_PER_SECOND: { min: 0.01, max: 1_000_000 },
  FROM_DOMAINS: 100,
  KEY_NAME_CHARS: 100,
} as const

export type Parsed<Value> = { ok: true; value: Value } | { ok: false; problem: string }

/** Lower-case ASCII. */
export function parseFromDomain(given: string): Parsed<string> {
  const text = given.trim().toLowerCase()
  const value = NOT_IN_DOMAIN.test(text) ? '' : domainToASCII(text)
  return /^([a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}$/.test(value)
    ? { ok: true, value }
    : { ok: false, problem: 'is not a domain' }
}

/** The default sender has to be of one of the company's domains. */
export function parseDefaultFrom(
  given: string,
  domains: readonly string[],
): { ok: true; value: string } | { ok: false; code: 'INVALID_EMAIL' | 'FROM_NOT_ALLOWED'; problem: string } {
  const parsed = parseAddress(given)
  if (!parsed.ok) return { ok: false, code: 'INVALID_EMAIL', problem: parsed.problem.message }
  const { domain } = parsed.value
  if (!domains.includes(domain))
    return { ok: false, code: 'FROM_NOT_ALLOWED', problem: `${domain} is not one of its sender domains` }
  return { ok: true, value: formatAddress(parsed.value) }
}

const fromDomain = z
  .string()
  .max(253)
  .transform((text, context): string => {
    const parsed = parseFromDomain(text)
    if (parsed.ok) return parsed.value
    context.issues.push({ code: 'custom', message: parsed.problem, params: { code: 'INVALID_DOMAIN' }, input: text })
    return z.NEVER
  })

const { WEIGHT, RATE_PER_SECOND } = COMPANY_LIMITS
const settings = {
  weight: z
    .int()
    .min(WEIGHT.min)
    .max(WEIGHT.max)
    .optional()
    .describe('Its share of the sending capacity beside other companies'),
  ratePerSecond: z
    .number()
    .min(RATE_PER_SECOND.min)
    .max(RATE_PER_SECOND.max)
    .nullable()
    .optional()
    .describe('null: no limit of its own'),
  retryPolicy: z.enum(RETRY_POLICY_NAMES).nullable().optional().describe('null: the setting RETRY_POLICY'),
  fromDomains: z
    .array(fromDomain)
    .max(COMPANY_LIMITS.FROM_DOMAINS)
    .transform(domains => [...new Set(domains)])
    .optional()
    .describe('The domains that it may use in From'),
  defaultFrom: z
    .string()
    .max(320)
    .nullable()
    .optional()
    .describe('The sender of its e-mails that name none, of one of its domains; null: the setting EMAIL_FROM'),
  locale: localeSchema.optional().describe('Of its templates, when a request names none'),
}

const printable = (text: string) => !/[\u0000-\u001f\u007f]/.test(text)
const reason = justificationSchema.optional().describe('Why; for the audit log')

export const newCompanySchema = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(COMPANY_LIMITS.NAME_CHARS)
      .refine(printable, { message: 'must not contain control characters', params: { code: 'INVALID_CHARACTERS' } }),
    ...settings,
    reason,
  })
  .meta({ id: 'NewCompany', example: { name: 'acme', fromDomains: ['acme.example'], weight: 1 } })

export const companyChangeSchema = z
  .strictObject({
    ...settings,
    isDefault: z.literal(true).optional().describe('E-mails that come by SQL without a company are its own'),
    reason,
  })
  .meta({ id: 'CompanyChange', example: { weight: 5, ratePerSecond: 50 } })

const instant = z.iso.datetime()
export const companySettingsSchema = z
  .object({
    companyId: z.uuid(),
    name: z.string(),
    weight: z.int(),
    ratePerSecond: z.number().nullable(),
    retryPolicy: z.enum(RETRY_POLICY_NAMES).nullable(),
    fromDomains: z.array(z.string()),
    defaultFrom: z.string().nullable(),
    locale: z.string(),
    isDefault: z.boolean(),
    pausedAt: instant.nullable(),
    pauseReason: z.string().nullable(),
    pausedBy: z.string().nullable(),
    createdAt: instant,
  })
  .meta({ id: 'Company' })

export const companyWithKeySchema = z
  .object({
    company: companySettingsSchema,
    keyId: z.string(),
    apiKey: z.string().describe('Its first API key: shown now and never again'),
  })
  .meta({ id: 'CompanyWithKey' })
