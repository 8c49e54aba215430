import { fragment, literal, type Queryable, sql } from '../platform/postgres/query.ts'

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
  await sql(tx, 'write-audit')`
    insert into audit_log (performed_by, action, subject_type, subject_id, company_id, before, after, reason)
     values (${entry.performedBy}, ${entry.action}, ${entry.subjectType}, ${entry.subjectId}, ${entry.companyId ?? null}, ${jsonOf(entry.before)}, ${jsonOf(entry.after)}, ${entry.reason ?? null})`
}

const jsonOf = (value: Record<string, unknown> | null | undefined) => (value ? JSON.stringify(value) : null)

/** Everything that is written to `audit_log` and `suppression_audit_log`. The admin UI has words for each, in every language. */
export const AUDIT_ACTIONS = [
  'ADDED',
  'REMOVED',
  'EXPIRED',
  'ADMINISTRATOR_CREATED',
  'ADMINISTRATOR_REMOVED',
  'PASSWORD_CHANGED',
  'ROLE_CHANGED',
  'SIGNED_IN',
  'SIGNED_OUT',
  'SIGN_IN_REFUSED',
  'SIGN_IN_LINK_MADE',
  'SESSIONS_ENDED',
  'COMPANY_CREATED',
  'COMPANY_CHANGED',
  'WARNED',
  'WARNING_ENDED',
  'PAUSED',
  'RESUMED',
  'API_KEY_CREATED',
  'API_KEY_REVOKED',
  'DOMAIN_ADDED',
  'DOMAIN_VERIFIED',
  'DOMAIN_REMOVED',
  'SQL_ACCESS_GRANTED',
  'SQL_ACCESS_REVOKED',
  'TEMPLATE_CREATED',
  'TEMPLATE_UPDATED',
  'TEMPLATE_PUBLISHED',
  'TEMPLATE_DELETED',
  'TEMPLATE_TESTED',
  'WEBHOOK_CREATED',
  'WEBHOOK_CHANGED',
  'WEBHOOK_REMOVED',
  'WEBHOOK_SECRET_ROTATED',
  'WEBHOOK_TESTED',
  'WEBHOOK_REPLAYED',
  'RESOLVED',
  'RESENT',
  'CANCELLED',
  'RESCHEDULED',
  'RETRIES_BROUGHT_FORWARD',
  'DEAD_LETTERS_REPLAYED',
  'DEAD_LETTERS_PURGED',
  'STARTED',
  'FINISHED',
  'STOPPED',
  'FAILED',
  'ERASURE_REQUESTED',
  'ERASED',
  'EXPORTED',
  'PROVIDER_PROBE_REQUESTED',
  'CAPTURED_MESSAGE_DELETED',
  'INBOX_EMPTIED',
  'LEDGER_ACKNOWLEDGED',
  'SNS_TOPIC_ACCEPTED',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

export const AUDIT_SUBJECTS = [
  'administrator',
  'api_key',
  'bulk_action',
  'captured_message',
  'company',
  'dead_letters',
  'domain',
  'email',
  'ledger',
  'person',
  'provider',
  'queue',
  'sns_topic',
  'sql_access',
  'suppression',
  'template',
  'webhook',
] as const
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number]

/** Who makes a change, and why. The reason is stored as given: the caller masks what a person typed. */
export type Author = { performedBy: string; reason?: string | null }

/** The fields that differ, as they were and as they are; null: none. */
export function changedFields<Row extends object>(
  before: Row,
  after: Row,
): { before: Partial<Row>; after: Partial<Row> } | null {
  const differs = (name: keyof Row) => JSON.stringify(before[name]) !== JSON.stringify(after[name])
  const names = (Object.keys(after) as (keyof Row)[]).filter(differs)
  if (names.length === 0) return null
  const only = (row: Row) => Object.fromEntries(names.map(name => [name, row[name]])) as Partial<Row>
  return { before: only(before), after: only(after) }
}

const PURGED_AT_ONCE = 5_000

/** Entries of both audit logs that are older than that; 0 days: none. */
export async function purgeAudit(db: Queryable, days: number): Promise<void> {
  if (days === 0) return
  for (const table of ['audit_log', 'suppression_audit_log']) {
    let purged: unknown[]
    do
      purged = await sql(db)`
        delete from ${fragment`${table}`} where id in (
           select id from ${fragment`${table}`} where performed_at < now() - ${days} * interval '1 day' order by performed_at, id limit ${literal(PURGED_AT_ONCE)})
         returning id`
    while (purged.length === PURGED_AT_ONCE)
  }
}
