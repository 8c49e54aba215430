import { maxAttempts, type RetryPolicyName } from '../../contracts/retry.ts'
import { type Queryable, type RawRow, run, runRaw, uuids, WAITING_AND_DUE } from '../pool.ts'
import { blocks } from '../suppression/list.ts'
import { ofBatch } from './batch-arrays.ts'

export type RecipientToSend = {
  ordinal: number
  kind: 'to' | 'cc' | 'bcc'
  address: string
  name: string | null
  /** On the suppression list by now. */
  suppressed: boolean
}

/** Everything an attempt needs to know about one e-mail. */
export type EmailToSend = {
  outboxId: string
  companyId: string
  requestId: string
  recipientId: string | null
  test: boolean
  from: string
  subject: string | null
  tags: string[]
  attempts: number
  maxAttempts: number
  /** null: neither the company nor the request chose one. */
  retryPolicy: RetryPolicyName | null
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
  recipients: RecipientToSend[]
  /** The recipient record it was accepted for; null when it had none, or when that is gone. */
  person: {
    externalId: string | null
    cpfCnpjHash: string | null
    email: string | null
    nome: string | null
    razaoSocial: string | null
  } | null
  /** How many; their content is read when it is needed. */
  files: number
  fileBytes: number
}

/**
 * Those of the e-mails that wait and are due; any other is somebody else's by now. The range stands at every table: without it
 * the partitions of all days are opened for each batch.
 */
export async function loadEmailsToSend(db: Queryable, outboxIds: string[]): Promise<Map<string, EmailToSend>> {
  if (outboxIds.length === 0) return new Map()
  const sorted = [...outboxIds].sort()
  return readEmailRows(await runRaw(db, 'load-emails', LOAD, [uuids(sorted), sorted[0], sorted.at(-1)]))
}

const ofEmail = (table: string, email: string) =>
  `${table}.outbox_id = ${email}.outbox_id and ${table}.outbox_id between $2 and $3`

/** How nearly every e-mail stands when it comes into a hand. */
const ORDINARY: Standing = [0, maxAttempts('steps'), null, 'resend', false, false, null]

type Standing = [
  attempts: number,
  maxAttempts: number,
  retryPolicy: EmailToSend['retryPolicy'],
  onUnknown: EmailToSend['onUnknown'],
  test: boolean,
  expired: boolean,
  resumed: EmailToSend['resumed'],
]

/** Of `email_outbox o`, what `emailParts` asks for. */
export const EMAIL_COLUMNS = `o.outbox_id, o.company_id, o.request_id, o.from_address, o.subject, o.tags, o.attempts, o.max_attempts,
  o.retry_policy, o.on_unknown, o.test, o.expires_at, o.started_at, o.attempt_id, o.provider, o.recipient_id`

/**
 * What `readEmailRows` reads: the parts of each e-mail as rows of their own. So each table is read by one walk along its index; asked
 * for e-mail by e-mail, the parts cost twice as much. The rule is not spelt out: each value is written, sent and read.
 */
export const emailParts = (emails: string) => `
select 'email', o.outbox_id, o.company_id::text, o.request_id::text, o.from_address, o.subject,
  case when o.tags <> '{}' then to_json(o.tags)::text end,
  case when o.attempts <> ${ORDINARY[0]} or o.max_attempts <> ${ORDINARY[1]} or o.retry_policy is not null or o.on_unknown <> '${ORDINARY[3]}'
    or o.test or o.expires_at <= now() or o.started_at is not null
  then json_build_array(o.attempts, o.max_attempts, o.retry_policy, o.on_unknown, o.test, o.expires_at <= now(),
    case when o.started_at is not null then json_build_object('attemptId', o.attempt_id, 'provider', o.provider,
      'askedSeconds', extract(epoch from now() - o.started_at)::float8) end)::text end,
  case when o.recipient_id is not null then json_build_array(o.recipient_id, (
    select case when p.company_id = o.company_id and p.deleted_at is null then json_build_object('externalId', p.external_id,
      'cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email, 'nome', p.nome, 'razaoSocial', p.razao_social) end
    from recipients p where p.recipient_id = o.recipient_id))::text end,
  -- Their sizes are known without reading them.
  case when o.outbox_id = any(array(select a.outbox_id from email_attachments a where ${ofBatch('a')})) then (
    select json_build_array(count(*), sum(octet_length(a.content))) from email_attachments a where ${ofEmail('a', 'o')})::text end
from ${emails}
union all
select 'content', c.outbox_id, c.html, c.html_proof, c.text, to_json(c.reply_to)::text, c.headers::text, null, null, null
from email_content c where ${ofBatch('c')}
union all
select 'recipient', r.outbox_id, r.ordinal::text, r.kind, r.address, r.display_name,
  case when exists (select from suppression_list s where s.hash_key = r.address_key
    and ${blocks('s', `(select e.company_id from email_outbox e where ${ofEmail('e', 'r')})`)}) then 'suppressed' end, null, null, null
from email_recipient_list r where ${ofBatch('r')} and not r.suppressed and r.address is not null`

const LOAD = emailParts(`email_outbox o where ${ofBatch('o')} and ${WAITING_AND_DUE}`)

/** The columns in their order. Read here and not by the driver, which would need twice as long for each e-mail. */
export function readEmailRows(rows: RawRow[]): Map<string, EmailToSend> {
  const emails = new Map<string, EmailToSend>()
  for (const row of rows) if (row[0] === 'email') emails.set(row[1]!, readEmailRow(row))
  for (const row of rows) {
    // The parts of an e-mail that waits no longer are there, too.
    const email = emails.get(row[1]!)
    if (row[0] === 'content' && email) addContent(email, row)
    else if (row[0] === 'recipient' && email) addRecipient(email, row)
  }
  return emails
}

function readEmailRow(row: RawRow): EmailToSend {
  const [attempts, maxAttempts, retryPolicy, onUnknown, test, expired, resumed] = json<Standing>(row[7]) ?? ORDINARY
  const [recipientId, person] = json<[string, EmailToSend['person']]>(row[8]) ?? NO_RECORD
  const [files, fileBytes] = json<[number, number]>(row[9]) ?? NO_FILES
  return {
    outboxId: row[1]!,
    companyId: row[2]!,
    requestId: row[3]!,
    from: row[4]!,
    subject: row[5] ?? null,
    html: null,
    htmlProof: null,
    text: null,
    recipients: [],
    attempts,
    maxAttempts,
    retryPolicy,
    onUnknown,
    test,
    expired,
    resumed,
    tags: json(row[6]) ?? [],
    replyTo: null,
    headers: null,
    recipientId,
    person,
    files,
    fileBytes,
  }
}

const NO_RECORD = [null, null] as const
const NO_FILES = [0, 0] as const

function addContent(email: EmailToSend, row: RawRow): void {
  email.html = row[2] ?? null
  email.htmlProof = row[3] ?? null
  email.text = row[4] ?? null
  email.replyTo = json(row[5])
  email.headers = json(row[6])
}

function addRecipient(email: EmailToSend, row: RawRow): void {
  const ordinal = Number(row[2])
  const { recipients } = email
  const one = {
    ordinal,
    kind: row[3] as RecipientToSend['kind'],
    address: row[4]!,
    name: row[5] ?? null,
    // The list is live data.
    suppressed: !email.test && !!row[6],
  }
  // In their order as they come, but nobody has promised it.
  const before = recipients.at(-1)
  recipients.push(one)
  if (before && before.ordinal > ordinal) recipients.sort((a, b) => a.ordinal - b.ordinal)
}

const json = <T>(text: string | null | undefined): T | null => (text ? JSON.parse(text) : null)

/** Of the recipients that were not suppressed when the email was read. */
export async function isSuppressedMeanwhile(
  db: Queryable,
  { outboxId, companyId, recipients, test }: EmailToSend,
): Promise<boolean> {
  if (test) return false
  const rows = await run(
    db,
    'suppressed-meanwhile',
    `select from email_recipient_list r join suppression_list s on s.hash_key = r.address_key
       and ${blocks('s', '$2')}
     where r.outbox_id = $1 and r.ordinal = any($3) limit 1`,
    [outboxId, companyId, recipients.filter(one => !one.suppressed).map(one => one.ordinal)],
  )
  return rows.length > 0
}

export type Attachment = { filename: string; contentType: string; contentId: string | null; base64: string }

/** Apart from the email: ten megabytes are held only while they are being sent. */
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
