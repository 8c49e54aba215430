import { TEMPLATE_FAILED } from '../companies/statistics.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, iso, type Queryable, runUnprepared, sql } from '../platform/postgres/query.ts'
import { isUuid } from '../platform/text/uuid.ts'
import { invalidField, Problem } from '../web/problem.ts'
import type { TemplateSource } from './parse.ts'
import { STATISTICS_DAYS, type TemplateOverview, type TemplateView, type VersionSummary } from './view.ts'

type Version = VersionSummary & TemplateSource

export const TEMPLATE_COLUMNS = fragment`t.template_id as id, t.type, t.locale, t.company_id is null as starter, t.published_number as published,
  (select max(v.number) from template_versions v where v.template_id = t.template_id and v.published_at is null) as draft,
  ${iso('t.created_at')} as "createdAt", ${iso('t.updated_at')} as "updatedAt"`

/** Its own and the starters; a starter that an own template of the type replaces is not listed. */
export async function listTemplates(db: Queryable, companyId: string): Promise<TemplateView[]> {
  return sql<TemplateView>(db, 'list-templates')`
    select ${TEMPLATE_COLUMNS} from templates t
     where t.company_id = ${companyId} or (t.company_id is null
       and not exists (select from templates own where own.company_id = ${companyId} and own.type = t.type and own.published_number is not null))
     order by t.type, t.company_id is null, t.locale`
}

/** Its own, or a starter. */
export async function findTemplate(db: Queryable, companyId: string, templateId: string): Promise<TemplateView | null> {
  const [row] = await sql<TemplateView>(db, 'find-template')`
    select ${TEMPLATE_COLUMNS} from templates t where t.template_id = ${templateId} and (t.company_id = ${companyId} or t.company_id is null)`
  return row ?? null
}

/** 404 also for a template of another company, so that an answer does not reveal that it exists. */
export async function requireTemplate(db: Database, companyId: string, id: string): Promise<TemplateView> {
  const template = isUuid(id) ? await findTemplate(db.pool, companyId, id) : null
  if (!template) throw new Problem('NOT_FOUND')
  return template
}

/** Its own of this type and locale. */
export async function findOwnByType(
  db: Queryable,
  companyId: string,
  type: string,
  locale: string,
): Promise<TemplateView | null> {
  const [row] = await sql<TemplateView>(db, 'find-own-template-by-type')`
    select ${TEMPLATE_COLUMNS} from templates t where t.company_id = ${companyId} and t.type = ${type} and t.locale = ${locale}`
  return row ?? null
}

const VERSION = fragment`v.number, ${iso('v.created_at')} as "createdAt", v.created_by, ${iso('v.published_at')} as "publishedAt",
  case when v.number = t.published_number then 'published' when v.published_at is null then 'draft' else 'replaced' end as status`

/** Newest first, without their content. */
export async function listVersions(db: Queryable, templateId: string): Promise<VersionSummary[]> {
  return sql<VersionSummary>(db, 'list-template-versions')`
    select ${VERSION} from template_versions v join templates t using (template_id) where v.template_id = ${templateId} order by v.number desc`
}

/** number null: the newest. */
export async function findVersion(db: Queryable, templateId: string, number: number | null): Promise<Version | null> {
  const [row] = await sql<Version>(db, 'find-template-version')`
    select ${VERSION}, v.subject, v.html, v.text from template_versions v join templates t using (template_id)
     where v.template_id = ${templateId} and (${number}::int is null or v.number = ${number}::int) order by v.number desc limit 1`
  return row ?? null
}

/** The newest unless a number is given. */
export async function requireVersion({ id }: TemplateView, db: Database, number?: number): Promise<Version> {
  const version = await findVersion(db.pool, id, number ?? null)
  if (!version) throw invalidField('version', 'is not a version of this template', 'INVALID_VALUE')
  return version
}

type TemplateFilter = {
  /** Its own, and the starters that they do not replace. null: of every company. */
  companyId: string | null
  /** A part of the type. */
  text: string | null
  /** The last one of the page before. */
  after: { type: string; id: string } | null
  limit: number
}

/** By type, those of companies before the starters. */
export async function listTemplateOverviews(db: Queryable, filter: TemplateFilter): Promise<TemplateOverview[]> {
  const { companyId, text, after, limit } = filter
  return runUnprepared<TemplateOverview>(
    db,
    `with page as materialized (
       select t.*, c.name as company_name from templates t left join companies c using (company_id)
       where ($1::uuid is null or t.company_id = $1 or (t.company_id is null and not exists (
           select from templates own where own.company_id = $1 and own.type = t.type and own.published_number is not null)))
         and ($2::text is null or position(lower($2) in t.type) > 0)
         and ($3::text is null or (t.type, t.template_id) > ($3, $4::uuid))
       order by t.type, t.template_id limit $5)
     select ${TEMPLATE_COLUMNS}, t.company_id, t.company_name,
       case when coalesce(t.company_id, $1) is not null then (
         select json_build_object('accepted', coalesce(sum(s.accepted), 0), 'sent', coalesce(sum(s.sent), 0),
           'failed', coalesce(sum(${TEMPLATE_FAILED}), 0), 'retries', coalesce(sum(s.retries), 0))
         from statistics s where s.company_id = coalesce(t.company_id, $1) and s.template_type = t.type and s.step = 'hour'
           and s.at > now() - $6 * interval '1 day') end as figures
     from page t order by t.type, t.template_id`,
    [companyId, text, after?.type ?? null, after?.id ?? null, limit, STATISTICS_DAYS],
  )
}

type FoundTemplate = Omit<TemplateOverview, 'figures'>

/** Of any company, or a starter. */
export async function findAnyTemplate(db: Queryable, templateId: string): Promise<FoundTemplate | null> {
  const [row] = await sql<FoundTemplate>(db)`
    select ${TEMPLATE_COLUMNS}, t.company_id, c.name as "companyName"
     from templates t left join companies c using (company_id) where t.template_id = ${templateId}`
  return row ?? null
}
