import { iso, type Queryable, run } from '../query.ts'

export type CompanyAction = 'WARNED' | 'WARNING_ENDED' | 'PAUSED' | 'RESUMED'
export type CompanyAudit = {
  companyId: string
  action: CompanyAction
  reason: string
  performedBy: string
  metadata?: Record<string, unknown>
}

export async function auditCompany(tx: Queryable, entry: CompanyAudit): Promise<void> {
  await run(
    tx,
    'audit-company',
    `insert into audit_log (subject_type, subject_id, company_id, action, reason, performed_by, after)
     values ('company', $1::uuid::text, $1, $2, $3, $4, $5)`,
    [entry.companyId, entry.action, entry.reason, entry.performedBy, JSON.stringify(entry.metadata ?? {})],
  )
}

export type CompanyAuditRow = CompanyAudit & { performedAt: string }

/** Newest first. */
export async function listCompanyAudit(db: Queryable, companyId: string, limit = 100): Promise<CompanyAuditRow[]> {
  return run<CompanyAuditRow>(
    db,
    'list-company-audit',
    `select subject_id as "companyId", action, reason, performed_by as "performedBy", after as metadata,
       ${iso('performed_at')} as "performedAt"
     from audit_log where subject_type = 'company' and subject_id = $1 order by id desc limit $2`,
    [companyId, limit],
  )
}
