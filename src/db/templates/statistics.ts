import { type Queryable, run } from '../query.ts'

export type TemplateFigures = { type: string; accepted: number; sent: number; failed: number; retries: number }

/** To the hour, and up to a minute ago. */
export async function templateStatistics(db: Queryable, companyId: string, since: string): Promise<TemplateFigures[]> {
  return run<TemplateFigures>(
    db,
    'template-statistics',
    `select type, sum(accepted)::float8 as accepted, sum(sent)::float8 as sent, sum(failed)::float8 as failed, sum(retries)::float8 as retries
     from template_statistics where company_id = $1 and hour >= date_trunc('hour', $2::timestamptz) group by type order by type`,
    [companyId, since],
  )
}
