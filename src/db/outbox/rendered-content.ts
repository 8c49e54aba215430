import { type Queryable, run } from '../query.ts'
import { elementFor, ofBatch, unlocked, writeBatch } from './batch-arrays.ts'

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
    const rows = await run<{ outbox_id: string }>(db, 'store-rendered-contents', STORE, [
      ...ids,
      sorted.map(one => one.from),
      sorted.map(one => one.subject),
      sorted.map(one => one.html),
      sorted.map(one => one.htmlProof),
      sorted.map(one => one.text),
    ])
    return new Set(rows.map(row => row.outbox_id))
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
