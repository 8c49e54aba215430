import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import type { RetryPolicyName } from '../settings/retry.ts'
import { blocks } from '../suppression/list.ts'
import { ofBatch, ofEmail } from './batch-arrays.ts'
import { HAS_UNRESOLVED_ATTEMPT, WAITING_AND_DUE } from './sql.ts'

export type RecipientToSend = {
  ordinal: number
  kind: 'to' | 'cc' | 'bcc'
  address: string
  name: string | null
  /** Whether the address is on the suppression list now. */
  suppressed: boolean
}

/** Everything an attempt needs to know about one e-mail. */
export type EmailToSend = {
  outboxId: string
  companyId: string
  requestId: string
  externalId: string | null
  recipientId: string | null
  test: boolean
  /** null: the company's default sender, or EMAIL_FROM. */
  from: string | null
  /** What decides about the sender when the e-mail names none. */
  companySender: { defaultFrom: string | null; fromDomains: string[] } | null
  subject: string | null
  templateType: string | null
  tags: string[]
  attempts: number
  maxAttempts: number
  /** null: neither the company nor the request chose one. */
  retryPolicy: RetryPolicyName | null
  onUnknown: 'resend' | 'hold'
  expired: boolean
  /** Its outcome is unknown, and its provider recognises it: the attempt goes on there. calledSecondsAgo: the last call. */
  unresolvedAttempt: { attemptId: string; provider: string; calledSecondsAgo: number } | null
  html: string | null
  /** Keyed hash: shows that this HTML passed the rules when it was accepted. */
  htmlProof: string | null
  text: string | null
  /** Of its template; only for an e-mail that has no content yet. */
  variables: Record<string, unknown> | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  recipients: RecipientToSend[]
  /** The recipient record it was accepted for; null when it had none, or when that is gone. */
  recipientRecord: { cpfCnpjHash: string | null; email: string | null } | null
  /** The number of attachments; their content is read when it is needed. */
  files: number
  fileBytes: number
  /** The span that accepted it; null unless its trace is sampled. */
  traceparent: string | null
}

/** Reads those of the e-mails that wait and are due; any other has ended, is not due, or another worker has it. */
export async function loadEmailsToSend(db: Queryable, outboxIds: string[]): Promise<Map<string, EmailToSend>> {
  if (outboxIds.length === 0) return new Map()
  const sorted = outboxIds.toSorted()
  const rows = await run<EmailToSend>(db, 'load-emails-to-send', LOAD, [sorted, sorted[0], sorted.at(-1)])
  return new Map(rows.map(row => [row.outboxId, row]))
}

/** Of `email_outbox o` and `email_content c`, as `EmailToSend`. A test e-mail is kept from nobody: the suppression list is live data. */
export const EMAIL_TO_SEND = `o.outbox_id as "outboxId", o.company_id as "companyId", o.request_id as "requestId", o.external_id as "externalId",
  o.traceparent, o.recipient_id as "recipientId", o.test, o.from_address as "from",
  case when o.from_address is null then (select json_build_object('defaultFrom', p.default_from, 'fromDomains', p.from_domains)
    from companies p where p.company_id = o.company_id) end as "companySender", o.subject, o.template_type as "templateType", o.tags, o.attempts, o.max_attempts as "maxAttempts",
  o.retry_policy as "retryPolicy", o.on_unknown as "onUnknown", o.expires_at <= now() as expired,
  case when ${HAS_UNRESOLVED_ATTEMPT} then json_build_object('attemptId', o.attempt_id, 'provider', o.provider,
    'calledSecondsAgo', extract(epoch from now() - o.started_at)::float8) end as "unresolvedAttempt",
  c.html, c.html_proof as "htmlProof", c.text,
  case when c.html is null and c.text is null then c.variables end as variables, c.reply_to as "replyTo", c.headers,
  (select coalesce(json_agg(json_build_object('ordinal', r.ordinal, 'kind', r.kind, 'address', r.address, 'name', r.display_name,
      -- Not "exists", of which the planner may make a join with the whole list.
      'suppressed', not o.test and (select true from suppression_list s
        where s.hash_key = r.address_key and ${blocks('s', 'o.company_id')} limit 1) is not null) order by r.ordinal), '[]')
   from email_recipients r where ${ofEmail('r', 'o')} and not r.suppressed and r.address is not null) as recipients,
  -- The company is compared after the look-up: planned while the table was empty, a condition would use its index.
  case when o.recipient_id is not null then (
    select case when p.company_id = o.company_id and p.deleted_at is null
      then json_build_object('cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email) end
    from recipients p where p.recipient_id = o.recipient_id) end as "recipientRecord",
  -- The sizes of attachments are known without reading their content.
  (select count(*)::int from email_attachments a where ${ofEmail('a', 'o')}) as files,
  (select coalesce(sum(octet_length(a.content)), 0)::float8 from email_attachments a where ${ofEmail('a', 'o')}) as "fileBytes"`

/** The content of an e-mail is read with its row: a nested loop along the batch. */
export const WITH_CONTENT = `left join lateral (select * from email_content c where ${ofEmail('c', 'o')} offset 0) c on true`

const LOAD = `select ${EMAIL_TO_SEND} from email_outbox o ${WITH_CONTENT} where ${ofBatch('o')} and ${WAITING_AND_DUE}`

/** Whether a recipient that was not suppressed when the e-mail was read is on the list now. */
export async function isNewlySuppressed(
  db: Queryable,
  { outboxId, companyId, recipients, test }: EmailToSend,
): Promise<boolean> {
  if (test) return false
  const rows = await run(
    db,
    'is-newly-suppressed',
    `select from email_recipients r join suppression_list s on s.hash_key = r.address_key
       and ${blocks('s', '$2')}
     where r.outbox_id = $1 and r.ordinal = any($3) limit 1`,
    [outboxId, companyId, recipients.filter(one => !one.suppressed).map(one => one.ordinal)],
  )
  return rows.length > 0
}

export type Attachment = { filename: string; contentType: string; contentId: string | null; base64: string }

/** Apart from the e-mail: ten megabytes are held only while they are being sent. */
export async function loadAttachments(db: Queryable, outboxId: string): Promise<Attachment[]> {
  return sql<Attachment>(db, 'load-attachments')`
    select filename, content_type, content_id,
       translate(encode(content, 'base64'), E'\\n', '') as base64
     from email_attachments where outbox_id = ${outboxId} order by ordinal`
}
