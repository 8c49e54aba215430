import { writeAudit } from '../audit.ts'
import type { Author } from '../audited-change.ts'
import { iso, type Queryable, run } from '../query.ts'

type CompanyAction = 'WARNED' | 'WARNING_ENDED' | 'PAUSED' | 'RESUMED' | 'COMPANY_CREATED' | 'COMPANY_CHANGED'
export type CompanyAudit = Author & {
  companyId: string
  action: CompanyAction
  before?: Record<string, unknown> | null
  metadata?: Record<string, unknown>
}

export async function auditCompany(tx: Queryable, { metadata = {}, ...entry }: CompanyAudit): Promise<void> {
  await writeAudit(tx, { ...entry, subjectType: 'company', subjectId: entry.companyId, after: metadata })
}

export type CompanyAuditRow = {
  id: number
  action: string
  subjectType: string
  subjectId: string
  reason: string | null
  performedBy: string
  performedAt: string
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Of the company, its keys, webhooks and templates; newest first, older than `beforeId`. */
export async function listCompanyAudit(
  db: Queryable,
  companyId: string,
  { beforeId = null, limit = 100 }: { beforeId?: number | null; limit?: number } = {},
): Promise<CompanyAuditRow[]> {
  return run<CompanyAuditRow>(
    db,
    'list-company-audit',
    `select id::float8 as id, action, subject_type as "subjectType", subject_id as "subjectId", reason, performed_by as "performedBy",
       before, after, ${iso('performed_at')} as "performedAt"
     from audit_log where company_id = $1 and ($3::bigint is null or id < $3) order by id desc limit $2`,
    [companyId, limit, beforeId],
  )
}
