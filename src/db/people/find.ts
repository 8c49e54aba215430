import { addressKey } from '../../contracts/address-key.ts'
import { type Queryable, run } from '../query.ts'

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
  const named = await run<RecordRow>(
    db,
    'find-person-records',
    `select recipient_id as "recipientId", email from recipients
     where ($1::uuid is null or company_id = $1) and (email = $2 or cpf_cnpj_hash = $3 or external_id = $4)`,
    [query.companyId, query.email, query.documentHash, query.externalId],
  )
  const known = [...asked, ...named.map(row => row.email).filter(one => one !== null)]
  const neighbours = await run<RecordRow>(
    db,
    'find-records-of-addresses',
    `select recipient_id as "recipientId", email from recipients where email = any($1) and ($2::uuid is null or company_id = $2)`,
    [known, query.companyId],
  )
  const recipientIds = [...new Set([...named, ...neighbours].map(row => row.recipientId))]
  const written = await listWrittenAddresses(db, recipientIds)
  return { addresses: [...new Set([...known, ...written])], recipientIds }
}

/** An e-mail from SQL may have any text as its address. A valid address stays as it is. */
async function listAsStored(db: Queryable, email: string): Promise<string[]> {
  const rows = await run<{ address: string }>(db, 'address-as-stored', 'select envelope_address($1) as address', [
    email,
  ])
  return rows.map(row => row.address)
}

type RecordRow = { recipientId: string; email: string | null }

/** Where e-mails for these records were sent: a record keeps its last address only. */
async function listWrittenAddresses(db: Queryable, recipientIds: string[]): Promise<string[]> {
  if (recipientIds.length === 0) return []
  const rows = await run<{ address: string }>(
    db,
    'list-written-addresses',
    `select distinct r.address from email_outbox o join email_recipients r on r.outbox_id = o.outbox_id and r.ordinal = 0
     where o.recipient_id = any($1) and r.address is not null`,
    [recipientIds],
  )
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
     select page.outbox_id as "outboxId", r.ordinal, address_hash(r.address) as hash,
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
  const rows = await run<{ recipientId: string }>(
    db,
    'list-other-records',
    `select distinct r.recipient_id as "recipientId" from email_outbox o join recipients r on r.recipient_id = o.recipient_id
     where o.outbox_id = any($1) and r.recipient_id <> all($2)`,
    [first, recipientIds],
  )
  return rows.map(row => row.recipientId)
}

type EmailRow = { outboxId: string; ordinal: number; hash: string | null; sure: boolean }

/** By SQL, as the e-mails from SQL are hashed. For a valid address it is the hash of contracts/hashing.ts. */
async function hashAddresses(db: Queryable, addresses: string[]): Promise<string[]> {
  const rows = await run<{ hash: string }>(
    db,
    'hash-addresses',
    'select address_hash(address) as hash from unnest($1::text[]) as address',
    [addresses],
  )
  return rows.map(row => row.hash)
}
