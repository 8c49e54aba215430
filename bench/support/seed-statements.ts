import type { EmailSendJobData } from '../../src/outbox/job.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'

/** Named, so that every connection prepares each of them once. */
export type Statement = { name: string; text: string; values: unknown[] }

export const findLog = (outboxId: string): Statement => ({
  name: 'find-log',
  text: 'select status, ses_message_id from seed.email_logs where outbox_id = $1',
  values: [outboxId],
})

export const raiseAttempts = (outboxId: string): Statement => ({
  name: 'raise-attempts',
  text: `update seed.email_outbox set attempts = attempts + 1, status = 'PROCESSING' where outbox_id = $1`,
  values: [outboxId],
})

export const putLog = (data: EmailSendJobData, attempt: number): Statement => ({
  name: 'put-log',
  text: `insert into seed.email_logs (outbox_id, company_id, recipient_id, recipient, subject, status, attempts, request_id)
    values ($1, $2, $3, $4, $5, 'RECEIVED', $6, $7)
    on conflict (outbox_id) do update set status = 'RECEIVED', attempts = excluded.attempts`,
  values: [data.outboxId, data.companyId, data.recipient.recipientId, data.to, data.subject, attempt, data.requestId],
})

export const putEvent = (outboxId: string, type: string, metadata: object): Statement => ({
  name: 'put-event',
  text: 'insert into seed.email_events (event_id, email_log_id, type, metadata) values ($1, $2, $3, $4)',
  values: [uuidv7(), outboxId, type, JSON.stringify(metadata)],
})

export const findOutbox = (outboxId: string): Statement => ({
  name: 'find-outbox',
  text: 'select company_id, subject, html from seed.email_outbox where outbox_id = $1',
  values: [outboxId],
})

export const findRecipient = (recipientId: string): Statement => ({
  name: 'find-recipient',
  text: 'select company_id, email from seed.recipients where recipient_id = $1 and deleted_at is null',
  values: [recipientId],
})

export const findHtml = (htmlRef: string): Statement => ({
  name: 'find-html',
  text: 'select html from seed.email_outbox where outbox_id = $1',
  values: [htmlRef],
})

export const markOutboxSent = (outboxId: string): Statement => ({
  name: 'mark-outbox-sent',
  text: `update seed.email_outbox set status = 'SENT', processed_at = now() where outbox_id = $1`,
  values: [outboxId],
})

export const markLogSent = (outboxId: string, sesMessageId: string, durationMs: number): Statement => ({
  name: 'mark-log-sent',
  text: `update seed.email_logs set status = 'SENT', ses_message_id = $2, sent_at = now(), duration_ms = $3
    where outbox_id = $1`,
  values: [outboxId, sesMessageId, durationMs],
})
