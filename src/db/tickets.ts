import { type Queryable, run } from './pool.ts'

/** Everything an attempt needs to know about one e-mail. */
export type Ticket = {
  outboxId: string
  companyId: string
  requestId: string
  externalId: string | null
  recipientId: string | null
  test: boolean
  from: string
  subject: string | null
  tags: string[]
  attempts: number
  maxAttempts: number
  retryPolicy: 'steps' | 'exponential' | 'patient'
  html: string | null
  text: string | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  createdAt: Date
  recipients: { kind: 'to' | 'cc' | 'bcc'; address: string; name: string | null }[]
  /** The recipient record it was accepted for; null when it had none, or when that is gone. */
  person: { externalId: string | null; cpfCnpjHash: string | null; email: string | null } | null
  attachments: { filename: string; contentType: string; contentId: string | null; base64: string }[]
}

export async function loadTickets(db: Queryable, outboxIds: string[]): Promise<Map<string, Ticket>> {
  if (outboxIds.length === 0) return new Map()
  const sorted = [...outboxIds].sort()
  const rows = await run<Ticket>(
    db,
    'load-tickets',
    `select o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId",
       o.recipient_id as "recipientId", o.test, o.from_address as "from", o.subject, o.tags, o.attempts,
       o.max_attempts as "maxAttempts", o.retry_policy as "retryPolicy", c.html, c.text, c.reply_to as "replyTo", c.headers,
       o.created_at as "createdAt",
       coalesce((select json_agg(json_build_object('kind', r.kind, 'address', r.address, 'name', r.display_name) order by r.ordinal)
        from email_recipients r where r.outbox_id = o.outbox_id and not r.suppressed and r.address is not null), '[]') as recipients,
       (select case when p.company_id = o.company_id and p.deleted_at is null then json_build_object('externalId', p.external_id,
          'cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email) end
        from recipients p where p.recipient_id = o.recipient_id) as person,
       coalesce((select json_agg(json_build_object('filename', f.filename, 'contentType', f.content_type, 'contentId', f.content_id,
          'base64', translate(encode(f.content, 'base64'), E'\\n', '')) order by f.ordinal)
        from email_attachments f where f.outbox_id = o.outbox_id), '[]') as attachments
     from email_outbox o join email_content c using (outbox_id)
     where o.outbox_id = any($1) and o.outbox_id between $2 and $3`,
    [sorted, sorted[0], sorted.at(-1)],
  )
  return new Map(rows.map(row => [row.outboxId, row]))
}
