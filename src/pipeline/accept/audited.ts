import type pg from 'pg'
import { type AuditEntry, writeAudit } from '../../audit/audit.ts'
import { acceptRequests } from '../../outbox/accept.ts'
import type { RequestToStore, StoreOutcome } from '../../outbox/draft.ts'
import { ensurePartitions } from '../../platform/postgres/partitions.ts'
import { inTransaction } from '../../platform/postgres/query.ts'

/** Accepts the e-mail that an administrator sends, together with its entry in the audit log. */
export async function acceptAudited(
  pool: pg.Pool,
  request: RequestToStore,
  auditOf: (outboxId: string) => AuditEntry,
): Promise<StoreOutcome> {
  // Accepting would make a missing partition itself, but not in the transaction that failed for it.
  await ensurePartitions(pool)
  return inTransaction(pool, async tx => {
    const [outcome] = await acceptRequests(tx, [request])
    if (outcome instanceof Error) throw outcome
    const result = outcome!.kind === 'answered' ? outcome!.answer.results[0] : undefined
    if (result?.status === 'ACCEPTED') await writeAudit(tx, auditOf(result.outboxId))
    return outcome!
  })
}
