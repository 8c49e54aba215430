import type pg from 'pg'
import type { Logger } from 'pino'
import { takeUnlogged } from '../../ledger/ledger.ts'
import type { Expired } from '../../outbox/expiry.ts'
import type { Returned } from '../../outbox/leases.ts'
import { logEmails } from '../../outbox/logged-emails.ts'
import { DatabaseUnavailable, isLostConnection } from '../../platform/postgres/errors.ts'
import { inTransaction, type Queryable } from '../../platform/postgres/query.ts'
import type { EmailLog } from '../../platform/telemetry/email-log.ts'
import { OUTCOME_UNKNOWN } from '../attempt/outcome.ts'

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

/** Twenty tasks meet the same outage, some of them every second: it is one line of `part` when it begins and one when it ends. */
export function failureLog(log: Logger, part: string) {
  let away = false
  return {
    failed(task: string, error: unknown): void {
      const isAway = error instanceof DatabaseUnavailable || isLostConnection(error)
      if (!isAway) log.warn({ err: error, task }, `${part} failed; trying again`)
      else if (!away) log.warn({ err: error, task }, `${part} failed: the database is away; trying again`)
      away ||= isAway
    },
    succeeded(): void {
      if (away) log.info(`${part} goes on: the database is back`)
      away = false
    },
  }
}
