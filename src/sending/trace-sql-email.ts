import type { EmailToSend } from '../db/outbox/load.ts'
import type { RootAttributes, Tracing } from '../telemetry/tracing.ts'
import type { ClaimedEmail } from './lane.ts'

/** Keeps the trace with the e-mail. false: somebody else is changing the e-mail, or it has a trace already. */
export type KeepTrace = (outboxId: string, traceparent: string) => Promise<boolean>

/** An e-mail that came by SQL had no request that could begin a trace: its first claim does. */
export async function tracedFromSql(claimed: ClaimedEmail, tracing: Tracing, keep: KeepTrace): Promise<ClaimedEmail> {
  const { outboxId, companyId, email } = claimed
  if (!email || email.traceparent || email.attempts > 0 || !isFromSql(email)) return claimed
  const span = tracing.begin('SQL e-mail')
  // Without its trace the e-mail is sent all the same.
  if (!span || !(await keep(outboxId, span.traceparent).catch(() => false))) return claimed
  const attributes: RootAttributes<'SQL e-mail'> = { requestId: email.requestId, companyId, outboxId }
  span.end(attributes, false)
  return { ...claimed, email: { ...email, traceparent: span.traceparent } }
}

/** enqueue_email() names the transaction as the request, and leaves the content to the worker. */
const isFromSql = ({ requestId, variables }: EmailToSend) => variables !== null && /^sql-\d+$/.test(requestId)
