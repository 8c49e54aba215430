import type { StoredContent } from '../../contracts/resend/email-view.ts'
import { type Queryable, run } from '../query.ts'

/** null: retention has deleted it. */
export async function findContent(db: Queryable, outboxId: string): Promise<StoredContent | null> {
  const [row] = await run<StoredContent>(
    db,
    'find-content',
    `select html, text, reply_to as "replyTo" from email_content where outbox_id = $1`,
    [outboxId],
  )
  return row ?? null
}

export async function findReplyTo(db: Queryable, outboxIds: string[]): Promise<Map<string, string[]>> {
  if (outboxIds.length === 0) return new Map()
  const rows = await run<{ outboxId: string; replyTo: string[] }>(
    db,
    'find-reply-to',
    `select outbox_id as "outboxId", reply_to as "replyTo" from email_content where outbox_id = any($1) and reply_to is not null`,
    [outboxIds],
  )
  return new Map(rows.map(({ outboxId, replyTo }) => [outboxId, replyTo]))
}

/** Display names by e-mail and address. */
export async function findNames(db: Queryable, outboxIds: string[]): Promise<Map<string, Map<string, string>>> {
  if (outboxIds.length === 0) return new Map()
  const rows = await run<{ outboxId: string; names: Record<string, string> }>(
    db,
    'find-names',
    `select outbox_id as "outboxId", json_object_agg(address, display_name) as names from email_recipients
     where outbox_id = any($1) and address is not null and display_name is not null group by outbox_id`,
    [outboxIds],
  )
  return new Map(rows.map(({ outboxId, names }) => [outboxId, new Map(Object.entries(names))]))
}

export type StoredFile = {
  ordinal: number
  filename: string
  contentType: string
  contentId: string | null
  size: number
}

export async function listFiles(db: Queryable, outboxId: string): Promise<StoredFile[]> {
  return run<StoredFile>(
    db,
    'list-files',
    `select ordinal, filename, content_type as "contentType", content_id as "contentId", length(content) as size
     from email_attachments where outbox_id = $1 order by ordinal`,
    [outboxId],
  )
}

export async function readFileContent(
  db: Queryable,
  outboxId: string,
  ordinal: number,
): Promise<{ filename: string; content: Buffer } | null> {
  const [row] = await run<{ filename: string; content: Buffer }>(
    db,
    'read-file-content',
    `select filename, content from email_attachments where outbox_id = $1 and ordinal = $2`,
    [outboxId, ordinal],
  )
  return row ?? null
}
