import type { z } from 'zod'
import { fragment, iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { type companySettingsSchema, DEFAULT_LOCALE } from './settings.ts'

export type Company = z.output<typeof companySettingsSchema>

const COLUMNS = fragment`company_id, name, from_domains, default_from, weight, rate_per_second,
  retry_policy, locale, ${iso('paused_at')} as "pausedAt", pause_reason,
  paused_by, is_default, ${iso('created_at')} as "createdAt"`

export type CompanyChange = {
  [Name in 'fromDomains' | 'defaultFrom' | 'weight' | 'ratePerSecond' | 'retryPolicy' | 'locale']?:
    | Company[Name]
    | undefined
}

export async function insertCompany(
  db: Queryable,
  company: { companyId: string; name: string } & CompanyChange,
): Promise<Company> {
  const [row] = await sql<Company>(db, 'insert-company')`
    insert into companies (company_id, name, from_domains, weight, rate_per_second, retry_policy, default_from, locale)
     values (${company.companyId}, ${company.name}, ${company.fromDomains ?? []}, ${company.weight ?? 1}, ${company.ratePerSecond ?? null}, ${company.retryPolicy ?? null}, ${company.defaultFrom ?? null}, ${company.locale ?? DEFAULT_LOCALE}) returning ${COLUMNS}`
  return row!
}

export async function listCompanies(db: Queryable): Promise<Company[]> {
  return sql<Company>(db, 'list-companies')`select ${COLUMNS} from companies order by name`
}

export async function companyNames(db: Queryable, companyIds: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ companyId: string; name: string }>(db, 'company-names')`
    select company_id, name from companies where company_id = any(${[...new Set(companyIds)]})`
  return new Map(rows.map(({ companyId, name }) => [companyId, name]))
}

export async function findCompany(db: Queryable, idOrName: string): Promise<Company | null> {
  const [row] = await sql<Company>(db, 'find-company')`
    select ${COLUMNS} from companies where company_id::text = ${idOrName} or name = ${idOrName}`
  return row ?? null
}

/** undefined leaves a field unchanged; null removes the limit, the policy or the default sender. */
export async function updateCompany(db: Queryable, companyId: string, change: CompanyChange): Promise<void> {
  await sql(db, 'update-company')`
    update companies set updated_at = now(),
       from_domains = coalesce(${change.fromDomains ?? null}, from_domains), weight = coalesce(${change.weight ?? null}, weight),
       rate_per_second = case when ${change.ratePerSecond !== undefined} then ${change.ratePerSecond ?? null} else rate_per_second end,
       retry_policy = case when ${change.retryPolicy !== undefined} then ${change.retryPolicy ?? null} else retry_policy end,
       default_from = case when ${change.defaultFrom !== undefined} then ${change.defaultFrom ?? null} else default_from end,
       locale = coalesce(${change.locale ?? null}, locale)
     where company_id = ${companyId}`
}

/** null: all of them, in one order, so that two such transactions follow each other. */
export async function lockCompanies(tx: Queryable, companyId: string | null): Promise<void> {
  await sql(tx, 'lock-companies')`
    select from companies where ${companyId}::uuid is null or company_id = ${companyId}::uuid order by company_id for no key update`
}

/** One company at most is the default: lock all of them first. */
export async function setDefaultCompany(tx: Queryable, companyId: string): Promise<void> {
  await sql(tx, 'clear-default')`
    update companies set is_default = false where is_default and company_id <> ${companyId}`
  await sql(tx, 'set-default')`
    update companies set is_default = true, updated_at = now() where company_id = ${companyId}`
}

/** Returns whether the company exists. One that is already paused keeps `pausedAt` and gets the new reason. */
export async function pauseCompany(
  db: Queryable,
  companyId: string,
  reason: string,
  by = 'administrator',
): Promise<boolean> {
  const rows = await sql(db, 'pause-company')`
    update companies set paused_at = coalesce(paused_at, now()), pause_reason = ${reason}, paused_by = ${by}, updated_at = now()
     where company_id = ${companyId} returning 1 as one`
  return rows.length > 0
}

export async function isPausedBy(db: Queryable, companyId: string, by: string): Promise<boolean> {
  const rows = await sql(db, 'is-paused-by')`
    select 1 as one from companies where company_id = ${companyId} and paused_at is not null and paused_by = ${by} for update`
  return rows.length > 0
}

/** Returns whether it was paused. */
export async function resumeCompany(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await sql(db, 'resume-company')`
    update companies set paused_at = null, pause_reason = null, paused_by = null, updated_at = now()
     where company_id = ${companyId} and paused_at is not null returning 1 as one`
  return rows.length > 0
}
