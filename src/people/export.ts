import { Readable } from 'node:stream'
import { decrypt, type KeyRing } from '../platform/encryption.ts'
import { iso, type Queryable, sql } from '../platform/postgres/query.ts'
import { hashEmail } from '../platform/text/hashing.ts'
import { findEntries } from '../suppression/reads.ts'
import { personQuery } from './erase.ts'
import {
  type FoundPerson,
  findPerson,
  listOtherRecords,
  listPersonEmails,
  type Person,
  type PersonEmail,
  personHashes,
} from './people.ts'

/** An e-mail may have a megabyte of content: few are in memory at once. */
const PAGE = 20

export type ExportRequest = { person: Person; companyId: string | null; requestedBy: string }
export type ExportDeps = { db: Queryable; pepper: string; keys: KeyRing }

/**
 * Everything that is kept about a person as one JSON document, written piece by piece:
 * `{exportedAt, addresses, records, suppressions, emails, recordsLeftOut}`. The export itself is audited.
 */
export async function exportPerson(request: ExportRequest, deps: ExportDeps): Promise<Readable> {
  const { person, companyId, requestedBy } = request
  const { db, pepper } = deps
  const found = await findPerson(db, personQuery(person, companyId, pepper))
  await auditExport(db, { subjectHashes: personHashes(person, companyId, pepper), companyId, requestedBy })
  return Readable.from(pieces(found, companyId, deps))
}

async function* pieces(found: FoundPerson, companyId: string | null, { db, keys }: ExportDeps): AsyncGenerator<string> {
  const records = await listPersonRecords(db, found.recipientIds)
  const suppressions = await Promise.all(found.addresses.map(address => suppressionOf(db, address, companyId)))
  const head = {
    exportedAt: new Date().toISOString(),
    addresses: found.addresses,
    records: records.map(record => recordView(record, keys)),
    suppressions,
  }
  yield `${JSON.stringify(head).slice(0, -1)},"emails":[`
  const otherRecords = new Set<string>()
  let count = 0
  let after: string | null = null
  do {
    const page = await listPersonEmails(db, found, companyId, { after, limit: PAGE })
    for (const email of await readPersonEmails(db, page.emails)) yield count++ === 0 ? email : `,${email}`
    for (const id of await listOtherRecords(db, page.emails, found)) otherRecords.add(id)
    after = page.next
  } while (after !== null)
  yield `],"recordsLeftOut":${otherRecords.size}}\n`
}

function recordView({ cpfCnpjCipher, ...record }: PersonRecord, keys: KeyRing) {
  const context = { companyId: record.companyId, column: 'recipients.cpf_cnpj' } as const
  return { ...record, cpfCnpj: cpfCnpjCipher === null ? null : decrypt(cpfCnpjCipher, keys, context) }
}

async function suppressionOf(db: Queryable, address: string, companyId: string | null) {
  const emailHash = hashEmail(address)
  const entries = await findEntries(db, emailHash)
  const visible = entries.filter(one => companyId === null || one.companyId === null || one.companyId === companyId)
  return { address, emailHash, suppressed: visible.length > 0, entries: visible }
}

export type PersonRecord = {
  recipientId: string
  companyId: string
  companyName: string
  externalId: string | null
  cpfCnpjHash: string | null
  cpfCnpjCipher: Buffer | null
  razaoSocial: string | null
  nome: string | null
  email: string | null
  createdAt: string
  updatedAt: string
}

export async function listPersonRecords(db: Queryable, recipientIds: string[]): Promise<PersonRecord[]> {
  return sql<PersonRecord>(db, 'list-person-records')`
    select r.recipient_id, r.company_id, c.name as "companyName", r.external_id,
       r.cpf_cnpj_hash, r.cpf_cnpj_cipher, r.razao_social, r.nome, r.email,
       ${iso('r.created_at')} as "createdAt", ${iso('r.updated_at')} as "updatedAt"
     from recipients r join companies c using (company_id) where r.recipient_id = any(${recipientIds}) order by r.recipient_id`
}

/** One JSON text for each e-mail. Of its recipients only this person is named: the others have a right to privacy, too. */
export async function readPersonEmails(db: Queryable, emails: PersonEmail[]): Promise<string[]> {
  const rows = await sql<{ email: string }>(db, 'read-person-emails')`
    select json_build_object('outboxId', o.outbox_id, 'companyId', o.company_id, 'companyName', c.name, 'status', o.status,
       'test', o.test, 'from', o.from_address, 'subject', o.subject, 'templateType', o.template_type, 'tags', o.tags,
       'externalId', o.external_id, 'requestId', o.request_id, 'provider', o.provider, 'messageId', o.message_id,
       'createdAt', ${iso('o.created_at')}, 'scheduledAt', ${iso('o.scheduled_at')}, 'sentAt', ${iso('o.sent_at')},
       'deliveredAt', ${iso('o.delivered_at')}, 'bouncedAt', ${iso('o.bounced_at')}, 'complainedAt', ${iso('o.complained_at')},
       'failedAt', ${iso('o.failed_at')}, 'failureReason', o.failure_reason,
       'recipients', (select json_agg(json_build_object('kind', r.kind, 'address', r.address, 'name', r.display_name,
           'status', r.status, 'suppressed', r.suppressed) order by r.ordinal)
         from email_recipients r where r.outbox_id = o.outbox_id and r.ordinal = any(i.ordinals)),
       'content', (select json_build_object('html', b.html, 'text', b.text, 'replyTo', b.reply_to, 'headers', b.headers, 'variables', b.variables)
         from email_content b where b.outbox_id = o.outbox_id),
       'attachments', (select coalesce(json_agg(json_build_object('filename', f.filename, 'contentType', f.content_type,
           'bytes', octet_length(f.content)) order by f.ordinal), '[]') from email_attachments f where f.outbox_id = o.outbox_id),
       'events', (select coalesce(json_agg(json_build_object('type', v.type, 'createdAt', ${iso('v.created_at')}, 'metadata', v.metadata)
           order by v.created_at, v.event_id), '[]') from email_events v where v.outbox_id = o.outbox_id))::text as email
     from json_to_recordset(${JSON.stringify(emails)}::json) as i("outboxId" uuid, ordinals smallint[])
     join email_outbox o on o.outbox_id = i."outboxId" left join companies c on c.company_id = o.company_id
     order by o.outbox_id`
  return rows.map(row => row.email)
}

/** Without anything that names the person. */
export async function auditExport(
  db: Queryable,
  entry: { subjectHashes: string[]; companyId: string | null; requestedBy: string },
): Promise<void> {
  await sql(db, 'audit-export')`
    insert into audit_log (subject_type, subject_id, company_id, action, performed_by)
     select 'person', hash, ${entry.companyId}, 'EXPORTED', ${entry.requestedBy} from unnest(${entry.subjectHashes}::text[]) as hash`
}
