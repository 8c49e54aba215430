import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { addressKey, parseBareAddress } from '../platform/text/addresses.ts'
import { hasMoreCharacters } from '../platform/text/characters.ts'
import { isValidCpfCnpj } from '../platform/text/documents.ts'
import { hashDocument } from '../platform/text/hashing.ts'

export type PersonQuery = {
  /** Null: every company. */
  companyId: string | null
  email: string | null
  documentHash: string | null
  externalId: string | null
}

/** A person: normalised addresses and the records of the table `recipients`. */
export type FoundPerson = { addresses: string[]; recipientIds: string[] }

/**
 * The records that match an identifier, the records with the addresses of those, and every address that all of them have or had.
 * It stops there: other documents at an address are not followed further, since families share addresses.
 */
export async function findPerson(db: Queryable, query: PersonQuery): Promise<FoundPerson> {
  const asked = query.email === null ? [] : await listAsStored(db, query.email)
  const named = await sql<RecordRow>(db, 'find-person-records')`
    select recipient_id, email from recipients
     where (${query.companyId}::uuid is null or company_id = ${query.companyId}::uuid) and (email = ${query.email} or cpf_cnpj_hash = ${query.documentHash} or external_id = ${query.externalId})`
  const known = [...asked, ...named.map(row => row.email).filter(one => one !== null)]
  const neighbours = await sql<RecordRow>(db, 'find-records-of-addresses')`
    select recipient_id, email from recipients where email = any(${known}) and (${query.companyId}::uuid is null or company_id = ${query.companyId}::uuid)`
  const recipientIds = [...new Set([...named, ...neighbours].map(row => row.recipientId))]
  const written = await listWrittenAddresses(db, recipientIds)
  return { addresses: [...new Set([...known, ...written])], recipientIds }
}

/** An e-mail from SQL may have any text as its address. A valid address stays as it is. */
async function listAsStored(db: Queryable, email: string): Promise<string[]> {
  const rows = await sql<{ address: string }>(db, 'address-as-stored')`
    select envelope_address(${email}) as address`
  return rows.map(row => row.address)
}

type RecordRow = { recipientId: string; email: string | null }

/** Where e-mails for these records were sent: a record keeps its last address only. */
async function listWrittenAddresses(db: Queryable, recipientIds: string[]): Promise<string[]> {
  if (recipientIds.length === 0) return []
  const rows = await sql<{ address: string }>(db, 'list-written-addresses')`
    select distinct r.address from email_outbox o join email_recipients r on r.outbox_id = o.outbox_id and r.ordinal = 0
     where o.recipient_id = any(${recipientIds}) and r.address is not null`
  return rows.map(row => row.address.toLowerCase())
}

/** An e-mail, and which of its recipients are the person. */
export type PersonEmail = { outboxId: string; ordinals: number[] }
export type PersonEmailPage = { emails: PersonEmail[]; next: string | null }

/** Of `Name <address>`, which SQL accepts as an address and the worker refuses. Written like the index email_recipients_bracketed. */
const bracketed = (column: string) => `lower(btrim(substring(${column} from '<([^<>]*)>$')) collate "C")`

const FIRST = '00000000-0000-0000-0000-000000000000'

/** In the order of their ids, oldest first. `next`: the id after which the following page begins. */
export async function listPersonEmails(
  db: Queryable,
  { addresses, recipientIds }: FoundPerson,
  companyId: string | null,
  { after = null, limit }: { after?: string | null; limit: number },
): Promise<PersonEmailPage> {
  const hashes = new Set(await hashAddresses(db, addresses))
  const rows = await run<EmailRow>(
    db,
    'list-person-emails',
    `with page as materialized (
       select outbox_id from (
         select outbox_id from email_recipients where address_key = any($1::bigint[]) and outbox_id > $4
         union select outbox_id from email_recipients where address like '%>' and ${bracketed('address')} = any($6) and outbox_id > $4
         union select outbox_id from email_outbox where recipient_id = any($2) and outbox_id > $4) found
       order by outbox_id limit $5
     )
     select page.outbox_id, r.ordinal, address_hash(r.address) as hash,
       coalesce((r.ordinal = 0 and o.recipient_id = any($2)) or (r.address like '%>' and ${bracketed('r.address')} = any($6)), false) as sure
     from page left join email_outbox o on o.outbox_id = page.outbox_id and ($3::uuid is null or o.company_id = $3)
     left join email_recipients r on r.outbox_id = o.outbox_id
       and (r.address_key = any($1::bigint[]) or (r.ordinal = 0 and o.recipient_id = any($2))
         or (r.address like '%>' and ${bracketed('r.address')} = any($6)))
     order by page.outbox_id, r.ordinal`,
    [[...hashes].map(addressKey), recipientIds, companyId, after ?? FIRST, limit, addresses],
  )
  const emails = new Map<string, number[]>()
  const pageIds = new Set(rows.map(row => row.outboxId))
  for (const { outboxId, ordinal, hash, sure } of rows) {
    // The key is a part of the hash; the hash itself decides.
    if (hash === null || !(sure || hashes.has(hash))) continue
    emails.set(outboxId, [...(emails.get(outboxId) ?? []), ordinal])
  }
  return {
    emails: [...emails].map(([outboxId, ordinals]) => ({ outboxId, ordinals })),
    next: pageIds.size === limit ? rows.at(-1)!.outboxId : null,
  }
}

/** Of e-mails to the person: the records that they belong to, and that were not found because they have another address now. */
export async function listOtherRecords(
  db: Queryable,
  emails: PersonEmail[],
  { recipientIds }: FoundPerson,
): Promise<string[]> {
  // The record of an e-mail is of its first recipient. One who got a copy has nothing to do with it.
  const first = emails.filter(({ ordinals }) => ordinals.includes(0)).map(({ outboxId }) => outboxId)
  if (first.length === 0) return []
  const rows = await sql<{ recipientId: string }>(db, 'list-other-records')`
    select distinct r.recipient_id from email_outbox o join recipients r on r.recipient_id = o.recipient_id
     where o.outbox_id = any(${first}) and r.recipient_id <> all(${recipientIds})`
  return rows.map(row => row.recipientId)
}

type EmailRow = { outboxId: string; ordinal: number; hash: string | null; sure: boolean }

/** By SQL, as the e-mails from SQL are hashed. For a valid address it is the hash of platform/text/hashing.ts. */
async function hashAddresses(db: Queryable, addresses: string[]): Promise<string[]> {
  const rows = await sql<{ hash: string }>(db, 'hash-addresses')`
    select address_hash(address) as hash from unnest(${addresses}::text[]) as address`
  return rows.map(row => row.hash)
}

/** `Name <address>`: the address is what identifies a person. */
const BRACKETED = /<([^<>]*)> *$/

/** SQL accepts any text as an address, and keeps it when the e-mail fails: such a text must be found, too. */
const email = z
  .string()
  .min(3)
  .max(400)
  .refine(text => text.includes('@'), 'must have an @')
  .refine(text => !text.includes('\0'), 'must not contain the character NUL')
  .describe('An address, or any text that was given as one: it is then compared as a whole')
  .transform(text => {
    const parsed = parseBareAddress(BRACKETED.exec(text)?.[1] ?? text)
    // Like address_hash in SQL, which knows the lower case of ASCII only.
    return parsed.ok ? parsed.value.normalised : text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
  })

const cpf = z
  .string()
  .max(20)
  .refine(
    text => hasMoreCharacters(text, 20) || isValidCpfCnpj(text),
    'must be a valid CPF or CNPJ; its check digits do not match',
  )

const name = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine(text => hasMoreCharacters(text, max) || !/\p{Cc}/u.test(text), 'must not contain control characters')

/** How a person is named. Several identifiers are of the same person, and each of them is searched for. */
export const personSchema = z
  .strictObject({
    email: email.optional(),
    cpf: cpf.optional().describe('A CPF or CNPJ'),
    externalId: name(255).optional().describe("The company's own id of the recipient"),
    company: name(100).optional().describe('Id or name; every company when absent'),
  })
  .refine(body => body.email !== undefined || body.cpf !== undefined || body.externalId !== undefined, {
    message: 'give email, cpf or externalId',
  })
  .refine(body => body.externalId === undefined || body.company !== undefined, {
    path: ['company'],
    message: 'is required with externalId, which is an id of one company',
  })
  .meta({ id: 'Person', example: { email: 'maria@example.com' } })

export type Person = z.output<typeof personSchema>

const keyed = (text: string, pepper: string) => createHmac('sha256', pepper).update(`person ${text}`).digest('hex')

/** Keyed hashes of the given identifiers: for audit and receipts, which must not name the person. */
export function personHashes({ email, cpf, externalId }: Person, companyId: string | null, pepper: string): string[] {
  return [
    ...(email === undefined ? [] : [personAddressHash(email, pepper)]),
    ...(cpf === undefined ? [] : [keyed(`document ${hashDocument(cpf, pepper)}`, pepper)]),
    ...(externalId === undefined ? [] : [keyed(`external ${companyId} ${externalId}`, pepper)]),
  ]
}

export const personAddressHash = (address: string, pepper: string) => keyed(`email ${address}`, pepper)

/** What an erasure counts. The names are those of the receipt. */
export const ERASED_KINDS = [
  'emails',
  'cancelled',
  'recipients',
  'recipientRecords',
  'contents',
  'attachments',
  'events',
  'captured',
  'providerEvents',
  'webhookDeliveries',
  'deadLetters',
  'idempotencyAnswers',
] as const
export type ErasedCounts = Record<(typeof ERASED_KINDS)[number], number>

const instant = z.iso.datetime()

export const receiptSchema = z
  .object({
    receiptId: z.uuid(),
    state: z.enum(['searching', 'erasing', 'done']).describe('The gateway goes on by itself until it is done'),
    found: z.boolean().describe('false: this erasure found nothing. See unfinished'),
    erased: z.object(
      Object.fromEntries(ERASED_KINDS.map(kind => [kind, z.int()])) as Record<keyof ErasedCounts, z.ZodInt>,
    ),
    waiting: z.int().describe('E-mails that are being sent, or wait for other recipients; erased when they have ended'),
    unfinished: z
      .array(z.object({ receiptId: z.uuid(), waiting: z.int() }))
      .describe('Earlier erasures of the same person that are not done yet'),
    recordsKept: z
      .int()
      .describe(
        'Recipient records that erased e-mails belonged to, and that have another address now. They are kept, since families share addresses: if they are of this person, erase by cpf or externalId, too',
      ),
    companyId: z.uuid().nullable().describe('null: in every company'),
    subjectHashes: z.array(z.string()).describe('Keyed hashes of the given identifiers, as in the audit log'),
    requestedBy: z.string(),
    requestedAt: instant,
    finishedAt: instant.nullable(),
  })
  .meta({ id: 'ErasureReceipt' })
export type ErasureReceipt = z.infer<typeof receiptSchema>

const open = z.record(z.string(), z.unknown())

export const personExportSchema = z
  .object({
    exportedAt: instant,
    addresses: z.array(z.string()),
    records: z.array(open).describe('Recipient records, with the decrypted document as cpfCnpj'),
    suppressions: z.array(open).describe('For each address, whether it is suppressed and why'),
    emails: z.array(open).describe('Oldest first, with content, names of the attachments and events'),
    recordsLeftOut: z
      .int()
      .describe(
        'Recipient records that these e-mails belong to, and that have another address now. If they are of this person, export by cpf or externalId, too',
      ),
  })
  .meta({ id: 'PersonExport' })
