import { type Queryable, run } from '../query.ts'

export type RenderedContent = {
  outboxId: string
  subject: string | null
  html: string | null
  htmlProof: string | null
  text: string | null
}

/** Of an e-mail that has no content yet. The variables stay: they are what the application asked for. */
export async function storeRenderedContent(db: Queryable, content: RenderedContent): Promise<void> {
  await run(
    db,
    'store-rendered-content',
    `with put_subject as (update email_outbox set subject = $2 where outbox_id = $1)
     update email_content set html = $3, html_proof = $4, text = $5 where outbox_id = $1 and html is null and text is null`,
    [content.outboxId, content.subject, content.html, content.htmlProof, content.text],
  )
}
