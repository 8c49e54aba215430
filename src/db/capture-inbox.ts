import { type Queryable, run } from './query.ts'

export type CapturedMessage = {
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string[]
  subject: string
  html: string | null
  text: string | null
  headers: Record<string, string>
  attachments: { filename: string; contentType: string; contentId: string | null; bytes: number }[]
}

export type CaptureItem = {
  messageId: string
  attemptId: string
  outboxId: string
  companyId: string
  message: CapturedMessage
}

export type CapturedRow = {
  messageId: string
  outboxId: string
  companyId: string
  capturedAt: Date
  message: CapturedMessage
}

/** Older messages are deleted. */
const MAX_MESSAGES = 10_000

/** A repeated attempt is stored once and gets the same message id, as with a provider that supports idempotency keys. */
export async function putCaptured(db: Queryable, items: CaptureItem[]): Promise<string[]> {
  const rows = await run<{ attempt_id: string; message_id: string }>(
    db,
    'put-captured',
    `with input as materialized (
       select * from json_to_recordset($1::json) as x("messageId" text, "attemptId" uuid, "outboxId" uuid, "companyId" uuid, message jsonb)
     ), put as (
       insert into capture_inbox (message_id, attempt_id, outbox_id, company_id, message)
       select "messageId", "attemptId", "outboxId", "companyId", message from input
       on conflict (attempt_id) do nothing returning attempt_id, message_id
     )
     select attempt_id, message_id from put
     union all
     select c.attempt_id, c.message_id from capture_inbox c join input i on i."attemptId" = c.attempt_id`,
    [JSON.stringify(items)],
  )
  const ids = new Map(rows.map(row => [row.attempt_id, row.message_id]))
  return items.map(item => ids.get(item.attemptId)!)
}

export async function listCaptured(db: Queryable, limit: number): Promise<CapturedRow[]> {
  return run<CapturedRow>(
    db,
    'list-captured',
    `select message_id as "messageId", outbox_id as "outboxId", company_id as "companyId", captured_at as "capturedAt", message
     from capture_inbox order by captured_at desc, message_id desc limit $1`,
    [limit],
  )
}

export async function findCaptured(db: Queryable, messageId: string): Promise<CapturedRow | null> {
  const [row] = await run<CapturedRow>(
    db,
    'find-captured',
    `select message_id as "messageId", outbox_id as "outboxId", company_id as "companyId", captured_at as "capturedAt", message
     from capture_inbox where message_id = $1`,
    [messageId],
  )
  return row ?? null
}

export async function trimCaptured(db: Queryable): Promise<void> {
  await run(
    db,
    'trim-captured',
    `delete from capture_inbox where captured_at < (
       select captured_at from capture_inbox order by captured_at desc offset $1 limit 1)`,
    [MAX_MESSAGES],
  )
}

/** How often this e-mail was throttled, counted by its events, which all workers share. */
export async function countThrottled(db: Queryable, outboxId: string): Promise<number> {
  const [row] = await run<{ count: number }>(
    db,
    'count-throttled',
    `select count(*)::int as count from email_events
     where outbox_id = $1 and type = 'RETRY_SCHEDULED' and metadata ? 'throttled'`,
    [outboxId],
  )
  return row!.count
}
