import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { elementFor, ofBatch, unlocked, writeBatch } from './batch-arrays.ts'

/** null: retention has deleted it. */
export async function findContent(db: Queryable, outboxId: string): Promise<StoredContent | null> {
  const [row] = await sql<StoredContent>(db, 'find-content')`
    select html, text, reply_to from email_content where outbox_id = ${outboxId}`
  return row ?? null
}

export async function findReplyTo(db: Queryable, outboxIds: string[]): Promise<Map<string, string[]>> {
  if (outboxIds.length === 0) return new Map()
  const rows = await sql<{ outboxId: string; replyTo: string[] }>(db, 'find-reply-to')`
    select outbox_id, reply_to from email_content where outbox_id = any(${outboxIds}) and reply_to is not null`
  return new Map(rows.map(({ outboxId, replyTo }) => [outboxId, replyTo]))
}

/** Display names by e-mail and address. */
export async function findNames(db: Queryable, outboxIds: string[]): Promise<Map<string, Map<string, string>>> {
  if (outboxIds.length === 0) return new Map()
  const rows = await sql<{ outboxId: string; names: Record<string, string> }>(db, 'find-names')`
    select outbox_id, json_object_agg(address, display_name) as names from email_recipients
     where outbox_id = any(${outboxIds}) and address is not null and display_name is not null group by outbox_id`
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
  return sql<StoredFile>(db, 'list-files')`
    select ordinal, filename, content_type, content_id, length(content) as size
     from email_attachments where outbox_id = ${outboxId} order by ordinal`
}

export async function readFileContent(
  db: Queryable,
  outboxId: string,
  ordinal: number,
): Promise<{ filename: string; content: Buffer } | null> {
  const [row] = await sql<{ filename: string; content: Buffer }>(db, 'read-file-content')`
    select filename, content from email_attachments where outbox_id = ${outboxId} and ordinal = ${ordinal}`
  return row ?? null
}

export type RenderedContent = {
  outboxId: string
  from: string | null
  subject: string | null
  html: string | null
  htmlProof: string | null
  text: string | null
}

/** Of e-mails that have no content yet. The variables stay: they are what the application asked for. false: somebody else is changing the e-mail. */
export async function storeRenderedContents(db: Queryable, contents: RenderedContent[]): Promise<boolean[]> {
  return writeBatch(contents, async (sorted, ids) => {
    const rows = await run<{ outboxId: string }>(db, 'store-rendered-contents', STORE, [
      ...ids,
      sorted.map(one => one.from),
      sorted.map(one => one.subject),
      sorted.map(one => one.html),
      sorted.map(one => one.htmlProof),
      sorted.map(one => one.text),
    ])
    return new Set(rows.map(row => row.outboxId))
  })
}

/** $4 senders, $5 subjects, $6 HTML, $7 its proofs, $8 texts. It does not wait for the disk: the commit of a start flushes what came before it. */
const STORE = `
with ${unlocked()}, put_outbox as (
  update email_outbox o set from_address = ${elementFor('o', '$4::text[]')}, subject = ${elementFor('o', '$5::text[]')}
  where ${ofBatch('o')} and o.outbox_id = any(array(select outbox_id from unlocked))
    and (select set_config('synchronous_commit', 'off', true)) = 'off'
  returning o.outbox_id
), put_content as (
  update email_content c set html = ${elementFor('c', '$6::text[]')}, html_proof = ${elementFor('c', '$7::text[]')}, text = ${elementFor('c', '$8::text[]')}
  where ${ofBatch('c')} and c.html is null and c.text is null and c.outbox_id = any(array(select outbox_id from unlocked))
)
select outbox_id from put_outbox`

export type StoredContent = { html: string | null; text: string | null; replyTo: string[] | null }
