import { type Queryable, run } from '../query.ts'

/** Sums of `table` by company: the companies with the highest `by` each, and all others together as `other`. */
const firstCompanies = (table: string, by: string, sums: string) =>
  `select case when place <= $1 then company_id::text else 'other' end as "companyId", ${sums}
   from (select *, row_number() over (order by ${by} desc, company_id) as place from ${table}) t group by 1 order by 1`

export type CompanyTotals = { companyId: string; processed: number; deadLetters: number }

export async function listCompanyTotals(db: Queryable, most: number): Promise<CompanyTotals[]> {
  return run<CompanyTotals>(
    db,
    'list-company-totals',
    firstCompanies(
      'company_totals',
      'processed',
      'sum(processed)::float8 as processed, sum(dead_letters)::float8 as "deadLetters"',
    ),
    [most],
  )
}

export type RequestTotals = { companyId: string; requests: number; suppressed: number }

export async function listRequestTotals(db: Queryable, most: number): Promise<RequestTotals[]> {
  return run<RequestTotals>(
    db,
    'list-request-totals',
    firstCompanies(
      'send_requests_total',
      'requests',
      'sum(requests)::float8 as requests, sum(suppressed)::float8 as suppressed',
    ),
    [most],
  )
}

export type LastServed = { companyId: string; consecutive: number }

/** The company that the claim served last, and how many of its e-mails in a row. */
export async function readFairCursor(db: Queryable): Promise<LastServed | null> {
  const [row] = await run<LastServed>(
    db,
    'read-fair-cursor',
    `select company_id as "companyId", run as consecutive from fair_cursor where run > 0`,
    [],
  )
  return row ?? null
}

export type RecentTemplate = { companyId: string; template: string; sent: number; failed: number }

/** Templates that failed in this hour or the one before, those that failed most first. */
export async function listFailingTemplates(db: Queryable, most: number): Promise<RecentTemplate[]> {
  return run<RecentTemplate>(
    db,
    'list-failing-templates',
    `select company_id as "companyId", type as template, sum(sent)::float8 as sent, sum(failed)::float8 as failed
     from template_statistics where hour >= date_trunc('hour', now() - interval '1 hour')
     group by 1, 2 having sum(failed) > 0 order by 4 desc, 1, 2 limit $1`,
    [most],
  )
}
