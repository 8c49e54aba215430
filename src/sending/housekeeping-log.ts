import type { Expired } from '../db/outbox/expiry.ts'
import type { Returned } from '../db/outbox/leases.ts'
import { logEmails } from '../db/outbox/logged-emails.ts'
import type { Queryable } from '../db/query.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import { NOBODY_KNOWS } from './resolve-unknown.ts'

/** E-mails that a lost worker had. */
export async function logLost(db: Queryable, { lost }: Returned, log: EmailLog): Promise<void> {
  const errorCode = 'WORKER_LOST'
  await logEmails(db, log, 'worker-lost', lost.unstarted, { state: 'RETRY_SCHEDULED', errorCode, isRetryable: true })
  await logEmails(db, log, 'unknown', lost.unknown, { state: 'UNKNOWN', errorCode })
}

/** Unknown sends that nobody could resolve in time. */
export function logGivenUp(db: Queryable, outboxIds: string[], log: EmailLog): Promise<void> {
  const { code: errorCode, message: errorReason } = NOBODY_KNOWS
  return logEmails(db, log, 'dead', outboxIds, { errorCode, errorReason, isRetryable: false })
}

export function logExpired(db: Queryable, { expired }: Expired, log: EmailLog): Promise<void> {
  return logEmails(db, log, 'expired', expired, { state: 'EXPIRED', errorCode: 'EXPIRED' })
}
