import type { ResendVariable } from '../../contracts/resend/template.ts'
import { iso, type Queryable, run } from '../query.ts'

/** A template as it was written for the Resend-compatible API. */
export type ResendSource = {
  name: string
  from: string | null
  replyTo: string[] | null
  subject: string
  html: string
  text: string | null
  variables: ResendVariable[]
}

export async function insertResendSource(tx: Queryable, templateId: string, source: ResendSource): Promise<void> {
  await run(
    tx,
    'insert-resend-template',
    `insert into resend_templates (template_id, name, from_address, reply_to, subject, html, text, variables)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      templateId,
      source.name,
      source.from,
      source.replyTo,
      source.subject,
      source.html,
      source.text,
      JSON.stringify(source.variables),
    ],
  )
}

export type ResendTemplateRow = {
  id: string
  name: string
  alias: string
  from: string | null
  replyTo: string[] | null
  subject: string
  html: string | null
  text: string | null
  variables: ResendVariable[] | null
  /** Of the newest version. */
  versionId: string
  isPublished: boolean
  hasDraft: boolean
  publishedAt: string | null
  createdAt: string
  updatedAt: string
}

/**
 * The newest version; as it was written, unless the native API has changed the template since. A template of the native API is
 * named by its type.
 */
const ROWS = `
  select t.template_id as id, coalesce(r.name, t.type) as name, t.type as alias,
    r.from_address as "from", r.reply_to as "replyTo", r.variables, v.version_id as "versionId",
    case when v.number = 1 then coalesce(r.subject, v.subject) else v.subject end as subject,
    case when v.number = 1 then coalesce(r.html, v.html) else v.html end as html,
    case when v.number = 1 and r.template_id is not null then r.text else v.text end as text,
    t.published_number is not null as "isPublished", v.published_at is null as "hasDraft",
    (select ${iso('p.published_at')} from template_versions p where p.template_id = t.template_id and p.number = t.published_number) as "publishedAt",
    ${iso('t.created_at')} as "createdAt", ${iso('t.updated_at')} as "updatedAt"
  from templates t left join resend_templates r using (template_id)
  cross join lateral (select * from template_versions v where v.template_id = t.template_id order by v.number desc limit 1) v`

/** The company's own, newest first. */
export async function listResendTemplates(db: Queryable, companyId: string): Promise<ResendTemplateRow[]> {
  return run<ResendTemplateRow>(
    db,
    'list-resend-templates',
    `${ROWS} where t.company_id = $1 order by t.created_at desc, t.template_id`,
    [companyId],
  )
}

/** By its id, or by its type, which is the alias. */
export async function findResendTemplate(
  db: Queryable,
  companyId: string,
  idOrAlias: string,
): Promise<ResendTemplateRow | null> {
  const [row] = await run<ResendTemplateRow>(
    db,
    'find-resend-template',
    `${ROWS} where t.company_id = $1 and (t.template_id::text = $2 or t.type = $2) order by t.locale limit 1`,
    [companyId, idOrAlias],
  )
  return row ?? null
}

export type TemplateToSend = {
  id: string
  type: string
  locale: string
  from: string | null
  replyTo: string[] | null
  variables: ResendVariable[] | null
}

/** What the sender of an e-mail has to know of the templates that it names by id or type. */
export async function findTemplatesToSend(
  db: Queryable,
  companyId: string,
  idsOrAliases: string[],
): Promise<TemplateToSend[]> {
  if (idsOrAliases.length === 0) return []
  return run<TemplateToSend>(
    db,
    'find-templates-to-send',
    `select t.template_id as id, t.type, t.locale, r.from_address as "from", r.reply_to as "replyTo", r.variables
     from templates t left join resend_templates r using (template_id)
     where t.company_id = $1 and (t.template_id::text = any($2) or t.type = any($2)) order by t.locale`,
    [companyId, idsOrAliases],
  )
}
