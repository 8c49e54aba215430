import { type Queryable, sql } from '../platform/postgres/query.ts'

export type UnknownSend = {
  outboxId: string
  attemptId: string
  provider: string
  reason: string
  onUnknown: 'resend' | 'hold'
  attempts: number
  maxAttempts: number
  expired: boolean
}

/** Unknown sends for which no evidence came in time. */
export async function listDueUnknownSends(db: Queryable, limit = 500): Promise<UnknownSend[]> {
  return sql<UnknownSend>(db, 'list-due-unknown-sends')`
    select u.outbox_id, u.attempt_id, u.provider, u.reason, o.on_unknown, o.attempts,
       o.max_attempts, o.expires_at <= now() as expired
     from unknown_sends u join email_outbox o using (outbox_id)
     where u.resolve_at <= now() and o.status = 'UNKNOWN' order by u.resolve_at limit ${limit}`
}

export type OpenUnknownSend = Pick<UnknownSend, 'outboxId' | 'attemptId' | 'provider' | 'attempts'> & {
  companyId: string
}

export async function findUnknownSend(db: Queryable, outboxId: string): Promise<OpenUnknownSend | null> {
  const [found] = await sql<OpenUnknownSend>(db, 'find-unknown-send')`
    select u.outbox_id, u.attempt_id, u.provider, o.attempts, o.company_id
     from unknown_sends u join email_outbox o using (outbox_id) where u.outbox_id = ${outboxId} and o.status = 'UNKNOWN'`
  return found ?? null
}

/** `hold`: nothing but evidence moves it, until its time is over. */
export async function holdUnknownSends(db: Queryable, outboxIds: string[]): Promise<void> {
  if (outboxIds.length === 0) return
  await sql(db, 'hold-unknown-sends')`
    update unknown_sends u set resolve_at = o.expires_at from email_outbox o
     where u.outbox_id = any(${outboxIds}) and o.outbox_id = u.outbox_id`
}

/** Rows whose e-mail is no longer UNKNOWN, although the statement that changed it did not delete them. */
export async function forgetResolvedSends(db: Queryable): Promise<void> {
  await sql(db, 'forget-resolved-sends')`
    delete from unknown_sends u where u.resolve_at <= now()
       and not exists (select from email_outbox o where o.outbox_id = u.outbox_id and o.status = 'UNKNOWN')`
}
