import type { TemplateSource } from '../../contracts/templates/parse.ts'
import type { TemplateView, VersionSummary } from '../../contracts/templates/view.ts'
import { iso, type Queryable, run } from '../query.ts'

export type Version = VersionSummary & TemplateSource

export const TEMPLATE_COLUMNS = `t.template_id as id, t.type, t.locale, t.company_id is null as starter, t.published_number as published,
  (select max(v.number) from template_versions v where v.template_id = t.template_id and v.published_at is null) as draft,
  ${iso('t.created_at')} as "createdAt", ${iso('t.updated_at')} as "updatedAt"`

/** Its own and the starters; a starter that an own template of the type replaces is not listed. */
export async function listTemplates(db: Queryable, companyId: string): Promise<TemplateView[]> {
  return run<TemplateView>(
    db,
    'list-templates',
    `select ${TEMPLATE_COLUMNS} from templates t
     where t.company_id = $1 or (t.company_id is null
       and not exists (select from templates own where own.company_id = $1 and own.type = t.type and own.published_number is not null))
     order by t.type, t.company_id is null, t.locale`,
    [companyId],
  )
}

/** Its own, or a starter. */
export async function findTemplate(db: Queryable, companyId: string, templateId: string): Promise<TemplateView | null> {
  const [row] = await run<TemplateView>(
    db,
    'find-template',
    `select ${TEMPLATE_COLUMNS} from templates t where t.template_id = $2 and (t.company_id = $1 or t.company_id is null)`,
    [companyId, templateId],
  )
  return row ?? null
}

/** Its own of this type and locale. */
export async function findOwnByType(
  db: Queryable,
  companyId: string,
  type: string,
  locale: string,
): Promise<TemplateView | null> {
  const [row] = await run<TemplateView>(
    db,
    'find-own-template-by-type',
    `select ${TEMPLATE_COLUMNS} from templates t where t.company_id = $1 and t.type = $2 and t.locale = $3`,
    [companyId, type, locale],
  )
  return row ?? null
}

const VERSION = `v.number, ${iso('v.created_at')} as "createdAt", v.created_by as "createdBy", ${iso('v.published_at')} as "publishedAt",
  case when v.number = t.published_number then 'published' when v.published_at is null then 'draft' else 'replaced' end as status`

/** Newest first, without their content. */
export async function listVersions(db: Queryable, templateId: string): Promise<VersionSummary[]> {
  return run<VersionSummary>(
    db,
    'list-template-versions',
    `select ${VERSION} from template_versions v join templates t using (template_id) where v.template_id = $1 order by v.number desc`,
    [templateId],
  )
}

/** number null: the newest. */
export async function findVersion(db: Queryable, templateId: string, number: number | null): Promise<Version | null> {
  const [row] = await run<Version>(
    db,
    'find-template-version',
    `select ${VERSION}, v.subject, v.html, v.text from template_versions v join templates t using (template_id)
     where v.template_id = $1 and ($2::int is null or v.number = $2) order by v.number desc limit 1`,
    [templateId, number],
  )
  return row ?? null
}
