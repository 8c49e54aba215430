import type { TemplateView } from '../../contracts/templates/view.ts'
import { type Queryable, runUnprepared } from '../query.ts'
import { TEMPLATE_FAILED } from '../statistics.ts'
import { TEMPLATE_COLUMNS } from './templates.ts'

export type TemplateOverview = TemplateView & {
  /** null: a starter. */
  companyId: string | null
  companyName: string | null
  /** Live e-mails of the type in the time asked for. Null for a starter in a list of every company. */
  figures: { accepted: number; sent: number; failed: number; retries: number } | null
}

export type TemplateFilter = {
  /** Its own, and the starters that they do not replace. null: of every company. */
  companyId: string | null
  /** A part of the type. */
  text: string | null
  sinceDays: number
  /** The last one of the page before. */
  after: { type: string; id: string } | null
  limit: number
}

/** By type, those of companies before the starters. */
export async function listTemplateOverviews(db: Queryable, filter: TemplateFilter): Promise<TemplateOverview[]> {
  const { companyId, text, sinceDays, after, limit } = filter
  return runUnprepared<TemplateOverview>(
    db,
    `with page as materialized (
       select t.*, c.name as company_name from templates t left join companies c using (company_id)
       where ($1::uuid is null or t.company_id = $1 or (t.company_id is null and not exists (
           select from templates own where own.company_id = $1 and own.type = t.type and own.published_number is not null)))
         and ($2::text is null or position(lower($2) in t.type) > 0)
         and ($3::text is null or (t.type, t.template_id) > ($3, $4::uuid))
       order by t.type, t.template_id limit $5)
     select ${TEMPLATE_COLUMNS}, t.company_id as "companyId", t.company_name as "companyName",
       case when coalesce(t.company_id, $1) is not null then (
         select json_build_object('accepted', coalesce(sum(s.accepted), 0), 'sent', coalesce(sum(s.sent), 0),
           'failed', coalesce(sum(${TEMPLATE_FAILED}), 0), 'retries', coalesce(sum(s.retries), 0))
         from statistics s where s.company_id = coalesce(t.company_id, $1) and s.template_type = t.type and s.step = 'hour'
           and s.at > now() - $6 * interval '1 day') end as figures
     from page t order by t.type, t.template_id`,
    [companyId, text, after?.type ?? null, after?.id ?? null, limit, sinceDays],
  )
}

export type FoundTemplate = TemplateView & { companyId: string | null; companyName: string | null }

/** Of any company, or a starter. */
export async function findAnyTemplate(db: Queryable, templateId: string): Promise<FoundTemplate | null> {
  const [row] = await runUnprepared<FoundTemplate>(
    db,
    `select ${TEMPLATE_COLUMNS}, t.company_id as "companyId", c.name as "companyName"
     from templates t left join companies c using (company_id) where t.template_id = $1`,
    [templateId],
  )
  return row ?? null
}
