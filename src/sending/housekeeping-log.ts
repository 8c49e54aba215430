import type pg from 'pg'
import type { Logger } from 'pino'
import { takeUnlogged } from '../db/ledger/ledger.ts'
import type { Expired } from '../db/outbox/expiry.ts'
import type { Returned } from '../db/outbox/leases.ts'
import { logEmails } from '../db/outbox/logged-emails.ts'
import { inTransaction, type Queryable } from '../db/query.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import { OUTCOME_UNKNOWN } from './outcome.ts'

/** E-mails that a lost worker had. */
export async function logLost(db: Queryable, { lost }: Returned, log: EmailLog): Promise<void> {
  const errorCode = 'WORKER_LOST'
  await logEmails(db, log, 'worker-lost', lost.unstarted, { state: 'RETRY_SCHEDULED', errorCode, isRetryable: true })
  await logEmails(db, log, 'unknown', lost.unknown, { state: 'UNKNOWN', errorCode })
}

/** Unknown sends that nobody could resolve in time. */
export function logGivenUp(db: Queryable, outboxIds: string[], log: EmailLog): Promise<void> {
  const { code: errorCode, message: errorReason } = OUTCOME_UNKNOWN
  return logEmails(db, log, 'dead', outboxIds, { errorCode, errorReason, isRetryable: false })
}

export function logExpired(db: Queryable, { expired }: Expired, log: EmailLog): Promise<void> {
  return logEmails(db, log, 'expired', expired, { state: 'EXPIRED', errorCode: 'EXPIRED' })
}

/** The most companies and days that one line names; `email-gateway ledger` names all. */
const MAX_LOGGED = 20

/** Whoever has found them, such as a command. If this process dies here, another one logs them. */
export async function logLosses(pool: pg.Pool, log: Logger): Promise<void> {
  await inTransaction(pool, async tx => {
    const losses = await takeUnlogged(tx)
    if (losses.length === 0) return
    const count = losses.reduce((sum, { emails }) => sum + emails, 0)
    log.error(
      { count, losses: losses.slice(0, MAX_LOGGED) },
      `The ledger does not balance (accepted e-mails that are in no place: ${count}); run email-gateway ledger`,
    )
  })
}
