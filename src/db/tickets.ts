import { type Queryable, run, WAITING_AND_DUE } from './pool.ts'
import { blocks } from './suppression.ts'

export type TicketRecipient = {
  ordinal: number
  kind: 'to' | 'cc' | 'bcc'
  address: string
  name: string | null
  /** On the suppression list by now. */
  suppressed: boolean
}

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
  onUnknown: 'resend' | 'hold'
  expired: boolean
  /** An attempt whose outcome is unknown at a provider that recognises it: it goes on there. askedSeconds: since it was last asked. */
  resumed: { attemptId: string; provider: string; askedSeconds: number } | null
  html: string | null
  /** That it was checked when it was accepted. */
  htmlProof: string | null
  text: string | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  createdAt: Date
  recipients: TicketRecipient[]
  /** The recipient record it was accepted for; null when it had none, or when that is gone. */
  person: { externalId: string | null; cpfCnpjHash: string | null; email: string | null } | null
  /** How many; their content is read when it is needed. */
  files: number
  fileBytes: number
}

/**
 * Those of the e-mails that wait and are due; any other is somebody else's by now. The range stands at every table: without it
 * the partitions of all days are opened for each batch. And "offset 0" keeps the planner from reading the whole range instead of
 * the rows: a batch of one old and one new e-mail has a hundred thousand between them.
 */
export async function loadTickets(db: Queryable, outboxIds: string[]): Promise<Map<string, Ticket>> {
  if (outboxIds.length === 0) return new Map()
  const sorted = [...outboxIds].sort()
  const rows = await run<Ticket>(
    db,
    'load-tickets',
    `select o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId",
       o.recipient_id as "recipientId", o.test, o.from_address as "from", o.subject, o.tags, o.attempts,
       o.max_attempts as "maxAttempts", o.retry_policy as "retryPolicy", o.on_unknown as "onUnknown", o.expires_at <= now() as expired,
       case when o.started_at is not null then json_build_object('attemptId', o.attempt_id, 'provider', o.provider,
         'askedSeconds', extract(epoch from now() - o.started_at)::float8) end as resumed,
       c.html, c.html_proof as "htmlProof", c.text, c.reply_to as "replyTo", c.headers, o.created_at as "createdAt",
       coalesce((select json_agg(json_build_object('ordinal', r.ordinal, 'kind', r.kind, 'address', r.address, 'name', r.display_name,
           'suppressed', exists (select from suppression_list s where s.hash_key = r.address_key
             and ${blocks('s', 'o.company_id')})) order by r.ordinal)
        from email_recipients r where r.outbox_id = o.outbox_id and r.outbox_id between $2 and $3 and not r.suppressed
          and r.address is not null), '[]') as recipients,
       case when o.recipient_id is not null then (
         select case when p.company_id = o.company_id and p.deleted_at is null then json_build_object('externalId', p.external_id,
           'cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email) end
         from recipients p where p.recipient_id = o.recipient_id) end as person,
       f.files, f.bytes as "fileBytes"
     from email_outbox o left join lateral (
       select * from email_content c where c.outbox_id = o.outbox_id and c.outbox_id between $2 and $3 offset 0) c on true cross join lateral (
       -- Their sizes are known without reading them.
       select count(*)::int as files, coalesce(sum(octet_length(a.content)), 0)::float8 as bytes
       from email_attachments a where a.outbox_id = o.outbox_id and a.outbox_id between $2 and $3) f
     where o.outbox_id = any($1) and o.outbox_id between $2 and $3
       and ${WAITING_AND_DUE}`,
    [sorted, sorted[0], sorted.at(-1)],
  )
  return new Map(rows.map(row => [row.outboxId, row]))
}

/** Of the recipients that were not suppressed when the ticket was read. */
export async function isSuppressedMeanwhile(
  db: Queryable,
  { outboxId, companyId, recipients }: Ticket,
): Promise<boolean> {
  const rows = await run(
    db,
    'suppressed-meanwhile',
    `select from email_recipients r join suppression_list s on s.hash_key = r.address_key
       and ${blocks('s', '$2')}
     where r.outbox_id = $1 and r.ordinal = any($3) limit 1`,
    [outboxId, companyId, recipients.filter(one => !one.suppressed).map(one => one.ordinal)],
  )
  return rows.length > 0
}

export type Attachment = { filename: string; contentType: string; contentId: string | null; base64: string }

/** Apart from the ticket: ten megabytes are held only while they are being sent. */
export async function loadAttachments(db: Queryable, outboxId: string): Promise<Attachment[]> {
  return run<Attachment>(
    db,
    'load-attachments',
    `select filename, content_type as "contentType", content_id as "contentId",
       translate(encode(content, 'base64'), E'\\n', '') as base64
     from email_attachments where outbox_id = $1 order by ordinal`,
    [outboxId],
  )
}
