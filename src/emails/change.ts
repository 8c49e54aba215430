import { writeAudit } from '../audit/audit.ts'
import type { EmailSummary } from '../outbox/email-view.ts'
import { logEmails } from '../outbox/logged-emails.ts'
import { type ChangeOutcome, cancelEmail } from '../outbox/schedule.ts'
import type { EmailStatus } from '../outbox/states.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction, type Queryable } from '../platform/postgres/query.ts'
import type { EmailLog } from '../platform/telemetry/email-log.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { Problem } from '../web/problem.ts'

type Change = {
  action: 'CANCELLED' | 'RESCHEDULED'
  performedBy: string
  /** What a person typed may name somebody: it is stored masked. */
  reason?: string | undefined
  after?: Record<string, unknown>
}

/** A change and its entry in the audit log are one transaction. */
export function changeAudited(
  db: Database,
  { outboxId, companyId, status, scheduledAt }: EmailSummary,
  { reason, ...change }: Change,
  apply: (tx: Queryable) => Promise<ChangeOutcome>,
): Promise<ChangeOutcome> {
  return inTransaction(db.pool, async tx => {
    const outcome = await apply(tx)
    if (outcome === 'done')
      await writeAudit(tx, {
        ...change,
        subjectType: 'email',
        subjectId: outboxId,
        companyId,
        before: { status, scheduledAt },
        reason: reason === undefined ? null : maskSensitive(reason),
      })
    return outcome
  })
}

/** `by`: for the events of the e-mail. */
export const cancelAudited = (
  db: Database,
  email: EmailSummary,
  { by, ...audit }: Pick<Change, 'performedBy' | 'reason'> & { by: string },
): Promise<ChangeOutcome> =>
  changeAudited(db, email, { action: 'CANCELLED', ...audit }, tx => cancelEmail(tx, email.outboxId, null, by))

export const logCancelled = (db: Database, outboxId: string, log: EmailLog) =>
  logEmails(db.pool, log, 'cancelled', [outboxId], { state: 'CANCELLED' })

/** `before`: the status when the e-mail was looked up. */
export function throwUnlessDone(outcome: ChangeOutcome, before: EmailStatus): void {
  if (outcome === 'not-found') throw new Problem('NOT_FOUND')
  if (outcome === 'locked') throw new Problem('EMAIL_LOCKED')
  if (outcome === 'too-late')
    throw new Problem('ALREADY_STARTED', before === 'CANCELLED' ? { detail: 'The e-mail is already cancelled' } : {})
}
