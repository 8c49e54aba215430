import type pg from 'pg'
import { writeAudit } from '../../audit/audit.ts'
import { fragment, inTransaction, type Queryable, runUnprepared, sql } from '../../platform/postgres/query.ts'

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

type CapturedRow = {
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
  const rows = await sql<{ attemptId: string; messageId: string }>(db, 'put-captured')`
    with input as materialized (
       select * from json_to_recordset(${JSON.stringify(items)}::json) as x("messageId" text, "attemptId" uuid, "outboxId" uuid, "companyId" uuid, message jsonb)
     ), put as (
       insert into capture_inbox (message_id, attempt_id, outbox_id, company_id, message)
       select "messageId", "attemptId", "outboxId", "companyId", message from input
       on conflict (attempt_id) do nothing returning attempt_id, message_id
     )
     select attempt_id, message_id from put
     union all
     select c.attempt_id, c.message_id from capture_inbox c join input i on i."attemptId" = c.attempt_id`
  const ids = new Map(rows.map(row => [row.attemptId, row.messageId]))
  return items.map(item => ids.get(item.attemptId)!)
}

/** The last message of a page; `micros` is its time in microseconds since 1970, as text. */
export type CapturePlace = { micros: string; messageId: string }
type CaptureFilter = {
  /** Part of the subject or of a recipient. */
  search: string | null
  after: CapturePlace | null
  limit: number
}
type ListedCapture = Omit<CapturedRow, 'message'> & {
  micros: string
  snippet: string
  message: Omit<CapturedMessage, 'html' | 'text' | 'headers'>
}

const ROW = fragment`message_id, outbox_id, company_id, captured_at`
const SNIPPET_LENGTH = 140

/** Newest first, without contents: 50 of them may have 51 MB. At most MAX_MESSAGES narrow rows are searched. */
export async function listCaptured(db: Queryable, filter: CaptureFilter): Promise<ListedCapture[]> {
  const { search, after, limit } = filter
  return runUnprepared<ListedCapture>(
    db,
    `select ${ROW}, (extract(epoch from captured_at) * 1000000)::bigint::text as micros,
       coalesce(left(message ->> 'text', ${SNIPPET_LENGTH}), '') as snippet,
       message - '{html,text,headers}'::text[] as message
     from capture_inbox
     where ($1::text is null or strpos(search_text, lower($1)) > 0)
       and ($2::bigint is null or (captured_at, message_id) < ('epoch'::timestamptz + $2 * interval '1 microsecond', $3))
     order by captured_at desc, message_id desc limit $4`,
    [search, after?.micros ?? null, after?.messageId ?? null, limit],
  )
}

export async function findCaptured(
  db: Queryable,
  messageId: string,
): Promise<(CapturedRow & { attemptId: string }) | null> {
  const [row] = await sql<CapturedRow & { attemptId: string }>(db, 'find-captured')`
    select ${ROW}, attempt_id, message from capture_inbox where message_id = ${messageId}`
  return row ?? null
}

/** Returns whether there was such a message. */
export async function deleteCaptured(pool: pg.Pool, messageId: string, performedBy: string): Promise<boolean> {
  return inTransaction(pool, async tx => {
    const [gone] = await sql<{ companyId: string | null; outboxId: string }>(tx, 'delete-captured')`
      delete from capture_inbox where message_id = ${messageId} returning company_id, outbox_id`
    if (!gone) return false
    await writeAudit(tx, {
      performedBy,
      action: 'CAPTURED_MESSAGE_DELETED',
      subjectType: 'captured_message',
      subjectId: messageId,
      companyId: gone.companyId,
      before: { outboxId: gone.outboxId },
    })
    return true
  })
}

/** Returns how many there were. */
export async function deleteAllCaptured(pool: pg.Pool, performedBy: string): Promise<number> {
  return inTransaction(pool, async tx => {
    const { rowCount } = await tx.query('delete from capture_inbox')
    const before = { messages: rowCount ?? 0 }
    await writeAudit(tx, {
      performedBy,
      action: 'INBOX_EMPTIED',
      subjectType: 'captured_message',
      subjectId: 'all',
      before,
    })
    return rowCount ?? 0
  })
}

export async function trimCaptured(db: Queryable): Promise<void> {
  await sql(db, 'trim-captured')`
    delete from capture_inbox where captured_at < (
       select captured_at from capture_inbox order by captured_at desc offset ${MAX_MESSAGES} limit 1)`
}

/** How often this e-mail was throttled, counted by its events, which all workers share. */
export async function countThrottled(db: Queryable, outboxId: string): Promise<number> {
  const [row] = await sql<{ count: number }>(db, 'count-throttled')`
    select count(*)::int as count from email_events
     where outbox_id = ${outboxId} and type = 'RETRY_SCHEDULED' and metadata ? 'throttled'`
  return row!.count
}
