import { idRange, type Queryable, run } from '../platform/postgres/query.ts'
import type { EmailLine, EmailLineFields, EmailLog, LoggedEmail } from '../platform/telemetry/email-log.ts'

/** Of `email_outbox o`: what a log line says about the recipient's record. */
export const RECIPIENT_RECORD = `case when o.recipient_id is not null then (
  select json_build_object('cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email) from recipients p
  where p.recipient_id = o.recipient_id and p.deleted_at is null) end`

type LoggedRow = LoggedEmail &
  Required<Pick<EmailLineFields, 'state' | 'attempt' | 'maxAttempts' | 'provider' | 'messageId'>>

/** Logs what housekeeping or a request has done to e-mails of which it knows the ids only. `state`: their status, unless given. */
export async function logEmails(
  db: Queryable,
  log: EmailLog,
  line: EmailLine,
  outboxIds: string[],
  facts: Partial<EmailLineFields>,
): Promise<void> {
  for (const { state, attempt, maxAttempts, provider, messageId, ...email } of await readLogged(db, outboxIds))
    log(line, email, {
      state,
      attempt,
      maxAttempts,
      ...(provider && { provider }),
      ...(messageId && { messageId }),
      ...facts,
    })
}

async function readLogged(db: Queryable, outboxIds: string[]): Promise<LoggedRow[]> {
  if (outboxIds.length === 0) return []
  return run<LoggedRow>(
    db,
    'read-logged-emails',
    `select o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId",
       o.status as state, o.attempts as attempt, o.max_attempts as "maxAttempts", o.provider, o.message_id as "messageId", o.traceparent,
       ${RECIPIENT_RECORD} as "recipientRecord",
       (select coalesce(json_agg(json_build_object('kind', r.kind, 'address', r.address) order by r.ordinal), '[]')
         from email_recipients r where r.outbox_id = o.outbox_id and r.outbox_id between $2 and $3) as recipients
     from email_outbox o where o.outbox_id = any($1) and o.outbox_id between $2 and $3`,
    [outboxIds, ...idRange(outboxIds.map(outboxId => ({ outboxId })))],
  )
}
