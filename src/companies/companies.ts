import { type Queryable, run } from '../platform/postgres/query.ts'
import type { RetryPolicyName } from '../settings/retry.ts'
import { DEFAULT_LOCALE } from './locale.ts'

export type Company = {
  companyId: string
  name: string
  fromDomains: string[]
  /** The sender of its e-mails that name none; null: EMAIL_FROM. */
  defaultFrom: string | null
  weight: number
  ratePerSecond: number | null
  retryPolicy: RetryPolicyName | null
  /** Of templates, when a request names none. */
  locale: string
  pausedAt: Date | null
  pauseReason: string | null
  /** `reputation`, or the administrator's name. */
  pausedBy: string | null
  /** E-mails that come by SQL from the owner of the database are this company's. */
  isDefault: boolean
  createdAt: Date
}

const COLUMNS = `company_id as "companyId", name, from_domains as "fromDomains", default_from as "defaultFrom", weight, rate_per_second as "ratePerSecond",
  retry_policy as "retryPolicy", locale, paused_at as "pausedAt", pause_reason as "pauseReason",
  paused_by as "pausedBy", is_default as "isDefault", created_at as "createdAt"`

export type CompanyChange = Partial<
  Pick<Company, 'fromDomains' | 'defaultFrom' | 'weight' | 'ratePerSecond' | 'retryPolicy' | 'locale'>
>

export async function insertCompany(
  db: Queryable,
  company: { companyId: string; name: string } & CompanyChange,
): Promise<Company> {
  const [row] = await run<Company>(
    db,
    'insert-company',
    `insert into companies (company_id, name, from_domains, weight, rate_per_second, retry_policy, default_from, locale)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${COLUMNS}`,
    [
      company.companyId,
      company.name,
      company.fromDomains ?? [],
      company.weight ?? 1,
      company.ratePerSecond ?? null,
      company.retryPolicy ?? null,
      company.defaultFrom ?? null,
      company.locale ?? DEFAULT_LOCALE,
    ],
  )
  return row!
}

export async function listCompanies(db: Queryable): Promise<Company[]> {
  return run<Company>(db, 'list-companies', `select ${COLUMNS} from companies order by name`, [])
}

export async function companyNames(db: Queryable, companyIds: string[]): Promise<Map<string, string>> {
  const rows = await run<{ companyId: string; name: string }>(
    db,
    'company-names',
    `select company_id as "companyId", name from companies where company_id = any($1)`,
    [[...new Set(companyIds)]],
  )
  return new Map(rows.map(({ companyId, name }) => [companyId, name]))
}

export async function findCompany(db: Queryable, idOrName: string): Promise<Company | null> {
  const [row] = await run<Company>(
    db,
    'find-company',
    `select ${COLUMNS} from companies where company_id::text = $1 or name = $1`,
    [idOrName],
  )
  return row ?? null
}

/** undefined leaves a field unchanged; null removes the limit, the policy or the default sender. */
export async function updateCompany(db: Queryable, companyId: string, change: CompanyChange): Promise<void> {
  await run(
    db,
    'update-company',
    `update companies set updated_at = now(),
       from_domains = coalesce($2, from_domains), weight = coalesce($3, weight),
       rate_per_second = case when $4 then $5 else rate_per_second end,
       retry_policy = case when $6 then $7 else retry_policy end,
       default_from = case when $8 then $9 else default_from end,
       locale = coalesce($10, locale)
     where company_id = $1`,
    [
      companyId,
      change.fromDomains ?? null,
      change.weight ?? null,
      change.ratePerSecond !== undefined,
      change.ratePerSecond ?? null,
      change.retryPolicy !== undefined,
      change.retryPolicy ?? null,
      change.defaultFrom !== undefined,
      change.defaultFrom ?? null,
      change.locale ?? null,
    ],
  )
}

/** null: all of them, in one order, so that two such transactions follow each other. */
export async function lockCompanies(tx: Queryable, companyId: string | null): Promise<void> {
  await run(
    tx,
    'lock-companies',
    `select from companies where $1::uuid is null or company_id = $1 order by company_id for no key update`,
    [companyId],
  )
}

/** One company at most is the default: lock all of them first. */
export async function setDefaultCompany(tx: Queryable, companyId: string): Promise<void> {
  await run(tx, 'clear-default', `update companies set is_default = false where is_default and company_id <> $1`, [
    companyId,
  ])
  await run(tx, 'set-default', `update companies set is_default = true, updated_at = now() where company_id = $1`, [
    companyId,
  ])
}

/** Returns whether the company exists. One that is already paused keeps `pausedAt` and gets the new reason. */
export async function pauseCompany(
  db: Queryable,
  companyId: string,
  reason: string,
  by = 'administrator',
): Promise<boolean> {
  const rows = await run(
    db,
    'pause-company',
    `update companies set paused_at = coalesce(paused_at, now()), pause_reason = $2, paused_by = $3, updated_at = now()
     where company_id = $1 returning 1 as one`,
    [companyId, reason, by],
  )
  return rows.length > 0
}

export async function isPausedBy(db: Queryable, companyId: string, by: string): Promise<boolean> {
  const rows = await run(
    db,
    'is-paused-by',
    'select 1 as one from companies where company_id = $1 and paused_at is not null and paused_by = $2 for update',
    [companyId, by],
  )
  return rows.length > 0
}

/** Returns whether it was paused. */
export async function resumeCompany(db: Queryable, companyId: string): Promise<boolean> {
  const rows = await run(
    db,
    'resume-company',
    `update companies set paused_at = null, pause_reason = null, paused_by = null, updated_at = now()
     where company_id = $1 and paused_at is not null returning 1 as one`,
    [companyId],
  )
  return rows.length > 0
}
