import { maxAttempts } from '../contracts/retry.ts'
import { list, type Queryable, type RawRow, run, runRaw, WAITING_AND_DUE } from './pool.ts'
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
  const rows = await runRaw(db, 'load-tickets', LOAD, [list(sorted), sorted[0], sorted.at(-1)])
  const tickets = new Map<string, Ticket>()
  for (const row of rows) tickets.set(row[0]!, ticketOf(row))
  return tickets
}

/** $2 and $3: the lowest and the highest id of the batch. */
const OF_THIS_EMAIL = (table: string) => `${table}.outbox_id = o.outbox_id and ${table}.outbox_id between $2 and $3`

/** How nearly every e-mail stands when it comes into a hand. */
const ORDINARY: Standing = [0, maxAttempts('steps'), 'steps', 'resend', false, false, null]

type Standing = [
  attempts: number,
  maxAttempts: number,
  retryPolicy: Ticket['retryPolicy'],
  onUnknown: Ticket['onUnknown'],
  test: boolean,
  expired: boolean,
  resumed: Ticket['resumed'],
]

/** What `ticketOf` reads, of `email_outbox o` beside TICKET_CONTENT. The rule is not spelt out: each value is written, sent and read. */
export const TICKET_COLUMNS = `o.outbox_id, o.company_id, o.request_id, o.from_address, o.subject, c.html, c.html_proof, c.text,
  (select json_agg(json_build_array(r.ordinal, r.kind, r.address, r.display_name, exists (
      select from suppression_list s where s.hash_key = r.address_key and ${blocks('s', 'o.company_id')})) order by r.ordinal)
   from email_recipient_list r where ${OF_THIS_EMAIL('r')} and not r.suppressed and r.address is not null),
  case when o.attempts <> ${ORDINARY[0]} or o.max_attempts <> ${ORDINARY[1]} or o.retry_policy <> '${ORDINARY[2]}' or o.on_unknown <> '${ORDINARY[3]}'
    or o.test or o.expires_at <= now() or o.started_at is not null
  then json_build_array(o.attempts, o.max_attempts, o.retry_policy, o.on_unknown, o.test, o.expires_at <= now(),
    case when o.started_at is not null then json_build_object('attemptId', o.attempt_id, 'provider', o.provider,
      'askedSeconds', extract(epoch from now() - o.started_at)::float8) end) end,
  case when o.tags <> '{}' then to_json(o.tags) end, to_json(c.reply_to), c.headers, o.recipient_id,
  case when o.recipient_id is not null then (
    select case when p.company_id = o.company_id and p.deleted_at is null then json_build_object('externalId', p.external_id,
      'cpfCnpjHash', p.cpf_cnpj_hash, 'email', p.email) end
    from recipients p where p.recipient_id = o.recipient_id) end,
  -- Their sizes are known without reading them. Who has any is asked once, by id: all that lie in between would be read otherwise.
  case when o.outbox_id = any(array(select a.outbox_id from email_attachments a where a.outbox_id = any($1) and a.outbox_id between $2 and $3)) then (
    select json_build_array(count(*), sum(octet_length(a.content))) from email_attachments a where ${OF_THIS_EMAIL('a')}) end`

export const TICKET_CONTENT = `left join lateral (select * from email_content c where ${OF_THIS_EMAIL('c')} offset 0) c on true`

const LOAD = `
select ${TICKET_COLUMNS} from email_outbox o ${TICKET_CONTENT}
where o.outbox_id = any($1) and o.outbox_id between $2 and $3 and ${WAITING_AND_DUE}`

/** The columns in their order. Read here and not by the driver, which would need twice as long for each e-mail. */
export function ticketOf(row: RawRow): Ticket {
  const [attempts, maxAttempts, retryPolicy, onUnknown, test, expired, resumed] = json<Standing>(row[9]) ?? ORDINARY
  const [files, fileBytes] = json<[number, number]>(row[15]) ?? NO_FILES
  return {
    outboxId: row[0]!,
    companyId: row[1]!,
    requestId: row[2]!,
    from: row[3]!,
    subject: row[4] ?? null,
    html: row[5] ?? null,
    htmlProof: row[6] ?? null,
    text: row[7] ?? null,
    recipients: (json<RecipientColumns[]>(row[8]) ?? []).map(recipientOf),
    attempts,
    maxAttempts,
    retryPolicy,
    onUnknown,
    test,
    expired,
    resumed,
    tags: json(row[10]) ?? [],
    replyTo: json(row[11]),
    headers: json(row[12]),
    recipientId: row[13] ?? null,
    person: json(row[14]),
    files,
    fileBytes,
  }
}

const NO_FILES = [0, 0] as const

type RecipientColumns = [number, TicketRecipient['kind'], string, string | null, boolean]

const recipientOf = ([ordinal, kind, address, name, suppressed]: RecipientColumns): TicketRecipient => ({
  ordinal,
  kind,
  address,
  name,
  suppressed,
})

const json = <T>(text: string | null | undefined): T | null => (text ? JSON.parse(text) : null)

/** Of the recipients that were not suppressed when the ticket was read. */
export async function isSuppressedMeanwhile(
  db: Queryable,
  { outboxId, companyId, recipients }: Ticket,
): Promise<boolean> {
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
