import { fragment } from '../platform/postgres/query.ts'
/**
 * For every insert into email_ready: a ready row that is there already is locked, not passed over. The claim that deletes it
 * waits for this commit, and then sees the e-mail as it made it; passed over, it could be taken by one who still saw the
 * e-mail as not due, and then nobody would come back to it.
 */
export const LOCK_EXISTING_READY_ROW = fragment`on conflict (company_id, priority, outbox_id) do update set priority = excluded.priority`

/**
 * Of `email_outbox o` that waits: its last attempt goes on, at the provider that recognises it. Settling keeps started_at for such an
 * attempt (`sameAttempt`) and for an unknown send, and clears it otherwise.
 */
export const HAS_UNRESOLVED_ATTEMPT = 'o.started_at is not null'

/** Of `email_outbox o`: a claim finds it. */
export const IS_READY = fragment`exists (select from email_ready r
  where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id)`

/** The due time of `email_outbox o` in email_scheduled. One that may be sent at once has none of its own. */
export const SCHEDULED_FOR = fragment`coalesce(o.next_attempt_at, o.created_at)`

/** Of `email_outbox o`: it becomes ready by itself when it is due (readyDueEmails). */
export const IS_SCHEDULED = fragment`exists (select from email_scheduled s where s.due_at = ${SCHEDULED_FOR} and s.outbox_id = o.outbox_id)`

/** Of `email_outbox o`: it may be sent now. Everything that makes an e-mail ready, loads it or starts it uses this condition. */
export const WAITING_AND_DUE = fragment`o.status in ('PENDING', 'RETRY_SCHEDULED') and (o.next_attempt_at is null or o.next_attempt_at <= now())`
