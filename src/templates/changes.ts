import type pg from 'pg'
import { type Author, writeAudit } from '../audit/audit.ts'
import { inTransaction, type Queryable, sql } from '../platform/postgres/query.ts'
import { Problem } from '../web/problem.ts'
import type { TemplateSource } from './parse.ts'
import { TEMPLATES_PER_COMPANY, VERSIONS_PER_TEMPLATE } from './view.ts'

/** Who changes a template of which company. */
export type TemplateAuthor = Author & { companyId: string }

type Action = 'TEMPLATE_CREATED' | 'TEMPLATE_UPDATED' | 'TEMPLATE_PUBLISHED' | 'TEMPLATE_DELETED'
type Audit = { type: string; locale: string; version?: number | null }

function audit(
  tx: Queryable,
  { companyId, performedBy, reason = null }: TemplateAuthor,
  subjectId: string,
  action: Action,
  change: { before?: Audit; after?: Audit },
): Promise<void> {
  return writeAudit(tx, { subjectType: 'template', subjectId, companyId, action, performedBy, reason, ...change })
}

type CreateOutcome = { kind: 'created'; id: string } | { kind: 'exists' } | { kind: 'limit' }

/** The id of the new template; `exists` is said of one of its type and locale. */
export function createdOrProblem(outcome: CreateOutcome, exists: string): string {
  if (outcome.kind === 'exists') throw new Problem('TEMPLATE_EXISTS', { detail: exists })
  if (outcome.kind === 'limit')
    throw new Problem('TEMPLATE_LIMIT_REACHED', { detail: `A company has at most ${TEMPLATES_PER_COMPANY} templates.` })
  return outcome.id
}

/** A template with its first version. locale null: the company's. `alsoWrite`: what belongs to it, in the same transaction. */
export async function createTemplate(
  pool: pg.Pool,
  author: TemplateAuthor,
  template: TemplateSource & { type: string; locale: string | null; publish: boolean },
  alsoWrite: (tx: Queryable, templateId: string) => Promise<void> = async () => {},
): Promise<CreateOutcome> {
  return inTransaction(pool, async tx => {
    // Two requests at once must not pass the limit together.
    await sql(tx, 'lock-company')`
      select from companies where company_id = ${author.companyId} for no key update`
    const [{ count } = { count: 0 }] = await sql<{ count: number }>(tx, 'count-templates')`
      select count(*)::int as count from templates where company_id = ${author.companyId}`
    if (count >= TEMPLATES_PER_COMPANY) return { kind: 'limit' }
    const [row] = await sql<{ id: string; locale: string }>(tx, 'insert-template')`
      insert into templates (company_id, type, locale)
       values (${author.companyId}, ${template.type}, coalesce(${template.locale}, (select locale from companies where company_id = ${author.companyId})))
       on conflict do nothing returning template_id as id, locale`
    if (!row) return { kind: 'exists' }
    const version = await insertVersion(tx, row.id, template, author)
    await alsoWrite(tx, row.id)
    const changed = { type: template.type, locale: row.locale, version }
    await audit(tx, author, row.id, 'TEMPLATE_CREATED', { after: changed })
    if (template.publish) await publish(tx, author, row.id, changed, null)
    return { kind: 'created', id: row.id }
  })
}

/** A new draft, in place of the one there is. Answers its number; null: there is no such template of the company. */
export async function addDraft(
  pool: pg.Pool,
  author: TemplateAuthor,
  templateId: string,
  source: TemplateSource,
): Promise<number | null> {
  return inTransaction(pool, async tx => {
    const template = await lockTemplate(tx, author, templateId)
    if (!template) return null
    const version = await insertVersion(tx, templateId, source, author)
    await sql(tx, 'prune-template-versions')`
      delete from template_versions v using templates t
       where v.template_id = ${templateId} and t.template_id = ${templateId} and v.number < ${version} and v.number is distinct from t.published_number
         and (v.published_at is null or v.number <= ${version}::int - ${VERSIONS_PER_TEMPLATE}::int)`
    await audit(tx, author, templateId, 'TEMPLATE_UPDATED', {
      after: { type: template.type, locale: template.locale, version },
    })
    return version
  })
}

/** number null: the draft. Answers the number of the version that is in use now; null: there is none to publish. */
export async function publishVersion(
  pool: pg.Pool,
  author: TemplateAuthor,
  templateId: string,
  number: number | null,
): Promise<number | null> {
  return inTransaction(pool, async tx => {
    const template = await lockTemplate(tx, author, templateId)
    if (!template) return null
    const [row] = await sql<{ number: number }>(tx, 'find-version-to-publish')`
      select number from template_versions
       where template_id = ${templateId} and case when ${number}::int is null then published_at is null else number = ${number}::int end order by number desc limit 1`
    if (!row) return null
    const { published, ...of } = template
    await publish(tx, author, templateId, { ...of, version: row.number }, published)
    return row.number
  })
}

/** false: there is no such template of the company. */
export async function deleteTemplate(pool: pg.Pool, author: TemplateAuthor, templateId: string): Promise<boolean> {
  return inTransaction(pool, async tx => {
    const template = await lockTemplate(tx, author, templateId)
    if (!template) return false
    await sql(tx, 'delete-template')`delete from templates where template_id = ${templateId}`
    await audit(tx, author, templateId, 'TEMPLATE_DELETED', {
      before: { type: template.type, locale: template.locale, version: template.published },
    })
    return true
  })
}

async function lockTemplate(tx: Queryable, author: TemplateAuthor, templateId: string) {
  const [row] = await sql<{ type: string; locale: string; published: number | null }>(tx, 'lock-template')`
    select type, locale, published_number as published from templates where template_id = ${templateId} and company_id = ${author.companyId} for update`
  return row ?? null
}

async function insertVersion(
  tx: Queryable,
  id: string,
  source: TemplateSource,
  author: TemplateAuthor,
): Promise<number> {
  const [row] = await sql<{ number: number }>(tx, 'insert-template-version')`
    insert into template_versions (template_id, number, subject, html, text, created_by)
     select ${id}, coalesce(max(number), 0) + 1, ${source.subject}, ${source.html}, ${source.text}, ${author.performedBy} from template_versions where template_id = ${id} returning number`
  await sql(tx, 'touch-template')`update templates set updated_at = now() where template_id = ${id}`
  return row!.number
}

async function publish(
  tx: Queryable,
  author: TemplateAuthor,
  id: string,
  after: Audit & { version: number },
  replaced: number | null,
): Promise<void> {
  await sql(tx, 'publish-template')`
    with put as (update template_versions set published_at = now() where template_id = ${id} and number = ${after.version})
     update templates set published_number = ${after.version}, updated_at = now() where template_id = ${id}`
  await audit(tx, author, id, 'TEMPLATE_PUBLISHED', { before: { ...after, version: replaced }, after })
}
