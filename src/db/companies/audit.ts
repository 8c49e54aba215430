import { iso, type Queryable, run } from '../pool.ts'

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
    // A warning and the pause that comes with it are told in this order.
    `insert into company_audit_log (id, company_id, action, reason, performed_by, metadata)
     values (uuid_v7_now(case when $2 = 'PAUSED' then 1 else 0 end), $1, $2, $3, $4, $5)`,
    [entry.companyId, entry.action, entry.reason, entry.performedBy, JSON.stringify(entry.metadata ?? {})],
  )
}

export type CompanyAuditRow = CompanyAudit & { performedAt: string }

/** Newest first. */
export async function listCompanyAudit(db: Queryable, companyId: string, limit = 100): Promise<CompanyAuditRow[]> {
  return run<CompanyAuditRow>(
    db,
    'list-company-audit',
    `select company_id as "companyId", action, reason, performed_by as "performedBy", metadata, ${iso('performed_at')} as "performedAt"
     from company_audit_log where company_id = $1 order by id desc limit $2`,
    [companyId, limit],
  )
}
