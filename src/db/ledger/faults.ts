import type pg from 'pg'
import type { AcknowledgedFault, LedgerFaultKind } from '../../contracts/ledger.ts'
import { writeAudit } from '../audit.ts'
import { inTransaction, type Queryable, run, runUnprepared } from '../query.ts'

export type NewFault = { kind: string; day: string; companyId: string | null; outboxId: string | null; emails: number }

/** What nobody has written to a log yet, whichever process found it. Give the transaction in which it is logged. */
export async function takeUnlogged(tx: Queryable): Promise<NewFault[]> {
  return run<NewFault>(
    tx,
    'take-unlogged-faults',
    `update ledger_faults set logged_at = now() where logged_at is null
     returning kind, day::text, company_id as "companyId", outbox_id as "outboxId", emails::int`,
    [],
  )
}

/** What the ledger has found about this e-mail. */
export async function findFault(db: Queryable, outboxId: string): Promise<LedgerFaultKind | null> {
  const [row] = await run<{ kind: LedgerFaultKind }>(
    db,
    'find-fault',
    'select kind from ledger_faults where outbox_id = $1 limit 1',
    [outboxId],
  )
  return row?.kind ?? null
}

/** Null: every e-mail, every day. */
export type Acknowledgement = { outboxId: string | null; day: string | null; by: string; reason: string }

/** More of them are in the table, and not repeated in the audit log. */
const MAX_AUDITED = 100

/** Acknowledges what is known and not acknowledged yet, and answers it. */
export function acknowledgeFaults(pool: pg.Pool, given: Acknowledgement): Promise<AcknowledgedFault[]> {
  const { outboxId, day, by, reason } = given
  return inTransaction(pool, async tx => {
    const faults = await runUnprepared<AcknowledgedFault>(
      tx,
      `with done as (
         update ledger_faults set acknowledged_at = now(), acknowledged_by = $3, acknowledged_reason = $4
         where acknowledged_at is null and ($1::uuid is null or outbox_id = $1) and ($2::date is null or day = $2)
         returning kind, day, outbox_id, company_id, emails
       )
       select kind, day::text, outbox_id as "outboxId", company_id as "companyId", emails::int from done order by day desc, outbox_id`,
      [outboxId, day, by, reason],
    )
    if (faults.length === 0) return faults
    await writeAudit(tx, {
      performedBy: by,
      action: 'LEDGER_ACKNOWLEDGED',
      subjectType: outboxId === null ? 'ledger' : 'email',
      subjectId: outboxId ?? day ?? 'all',
      companyId: outboxId === null ? null : faults[0]!.companyId,
      after: { count: faults.length, faults: faults.slice(0, MAX_AUDITED) },
      reason,
    })
    return faults
  })
}
