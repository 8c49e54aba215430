import type { AuditAction, AuditSubject } from '../contracts/audit-actions.ts'
import { type Queryable, run } from './query.ts'

/** `before` and `after` hold what changed: no addresses, documents or secrets. */
export type AuditEntry = {
  performedBy: string
  action: AuditAction
  subjectType: AuditSubject
  subjectId: string
  companyId?: string | null
  before?: Record<string, unknown> | null
  after?: Record<string, unknown> | null
  reason?: string | null
}

/** Give the transaction of the change itself, so that neither is there without the other. */
export async function writeAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  await run(
    tx,
    'write-audit',
    `insert into audit_log (performed_by, action, subject_type, subject_id, company_id, before, after, reason)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      entry.performedBy,
      entry.action,
      entry.subjectType,
      entry.subjectId,
      entry.companyId ?? null,
      jsonOf(entry.before),
      jsonOf(entry.after),
      entry.reason ?? null,
    ],
  )
}

const jsonOf = (value: Record<string, unknown> | null | undefined) => (value ? JSON.stringify(value) : null)
