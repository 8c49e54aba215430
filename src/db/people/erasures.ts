import { ERASED_KINDS, type ErasedCounts, type ErasureReceipt } from '../../contracts/person.ts'
import { iso, type Queryable, run } from '../query.ts'
import type { FoundPerson, PersonEmail } from './find.ts'

export type NewErasure = FoundPerson & {
  erasureId: string
  companyId: string | null
  subjectHashes: string[]
  foundHashes: string[]
  requestedBy: string
}

/** The request and its audit entry are one commit. From then on it is carried out, even if this process dies. */
export async function putErasure(db: Queryable, erasure: NewErasure): Promise<void> {
  const { erasureId, companyId, subjectHashes, foundHashes, requestedBy, addresses, recipientIds } = erasure
  await run(
    db,
    'put-erasure',
    `with put as (
       insert into person_erasures (erasure_id, company_id, subject_hashes, requested_by, addresses, recipient_ids, found_hashes)
       values ($1, $2, $3, $4, $5, $6, $7) returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'person', hash, company_id, 'ERASURE_REQUESTED', requested_by, jsonb_build_object('receiptId', erasure_id)
     from put, unnest(subject_hashes) as hash`,
    [erasureId, companyId, subjectHashes, requestedBy, addresses, recipientIds, foundHashes],
  )
}

export type OpenErasure = FoundPerson & { companyId: string | null; state: 'searching' | 'erasing' }

/** Locked until the transaction ends. Null: it is done, or another process is at it. */
export async function lockErasure(tx: Queryable, erasureId: string): Promise<OpenErasure | null> {
  const [row] = await run<OpenErasure>(
    tx,
    'lock-erasure',
    `select company_id as "companyId", state, coalesce(addresses, '{}') as addresses, coalesce(recipient_ids, '{}') as "recipientIds"
     from person_erasures where erasure_id = $1 and state <> 'done' for update skip locked`,
    [erasureId],
  )
  return row ?? null
}

export async function listOpenErasures(db: Queryable, limit = 100): Promise<string[]> {
  const rows = await run<{ erasureId: string }>(
    db,
    'list-open-erasures',
    `select erasure_id as "erasureId" from person_erasures where state <> 'done' order by requested_at limit $1`,
    [limit],
  )
  return rows.map(row => row.erasureId)
}

/** Lists e-mails to erase. One that is listed already gets the recipients added. */
export async function listForErasure(tx: Queryable, erasureId: string, emails: PersonEmail[]): Promise<void> {
  if (emails.length === 0) return
  await run(
    tx,
    'list-for-erasure',
    `insert into person_erasure_emails as e (erasure_id, outbox_id, ordinals)
     select $1, x."outboxId", x.ordinals from json_to_recordset($2::json) as x("outboxId" uuid, ordinals smallint[])
     on conflict (erasure_id, outbox_id) do update set ordinals = e.ordinals || excluded.ordinals`,
    [erasureId, JSON.stringify(emails)],
  )
}

/** Everything is listed: what was searched for is deleted, with the records of the person. */
export async function endSearch(tx: Queryable, erasureId: string, recordsKept: number): Promise<void> {
  const [row] = await run<{ count: number }>(
    tx,
    'erase-recipient-records',
    `with erased as (
       delete from recipients r using person_erasures p
       where p.erasure_id = $1 and r.recipient_id = any(p.recipient_ids) returning 1)
     select count(*)::int as count from erased`,
    [erasureId],
  )
  await addErasedCounts(tx, erasureId, { recipientRecords: row!.count })
  await run(
    tx,
    'end-search',
    `update person_erasures set state = 'erasing', addresses = null, recipient_ids = null, records_kept = $2 where erasure_id = $1`,
    [erasureId, recordsKept],
  )
}

export async function addErasedCounts(tx: Queryable, erasureId: string, counts: Partial<ErasedCounts>): Promise<void> {
  await run(
    tx,
    'add-erased-counts',
    `update person_erasures p set counts = p.counts || (
       select coalesce(jsonb_object_agg(key, coalesce((p.counts ->> key)::int, 0) + value::int), '{}') from jsonb_each_text($2::jsonb))
     where erasure_id = $1`,
    [erasureId, JSON.stringify(counts)],
  )
}

/** Done when no e-mail is left; the audit gets the receipt's counts in the same commit. Retention may have dropped e-mails meanwhile. */
export async function endErasure(tx: Queryable, erasureId: string): Promise<void> {
  await run(
    tx,
    'forget-dropped-emails',
    `delete from person_erasure_emails e
     where e.erasure_id = $1 and not exists (select from email_outbox o where o.outbox_id = e.outbox_id)`,
    [erasureId],
  )
  await run(
    tx,
    'end-erasure',
    `with done as (
       update person_erasures set state = 'done', finished_at = now(), found_hashes = '{}'
       where erasure_id = $1 and state = 'erasing' and not exists (select from person_erasure_emails e where e.erasure_id = $1)
       returning *
     )
     insert into audit_log (subject_type, subject_id, company_id, action, performed_by, after)
     select 'person', hash, company_id, 'ERASED', requested_by, jsonb_build_object('receiptId', erasure_id, 'erased', counts)
     from done, unnest(subject_hashes) as hash`,
    [erasureId],
  )
}

/** Whether more can be erased within seconds. What only waits for other recipients may take days. */
export async function isMovingErasure(db: Queryable, erasureId: string): Promise<boolean> {
  const rows = await run(
    db,
    'is-moving-erasure',
    // With no e-mail left, another process has erased the last one and is about to end the erasure.
    `select from person_erasures p where p.erasure_id = $1 and (p.state = 'searching' or (p.state = 'erasing'
       and not coalesce((select bool_and(e.taken_off) from person_erasure_emails e where e.erasure_id = p.erasure_id), false)))`,
    [erasureId],
  )
  return rows.length > 0
}

const waitingOf = (erasure: string) =>
  `(select count(*) from person_erasure_emails e where e.erasure_id = ${erasure}.erasure_id)::int`

type ReceiptRow = Omit<ErasureReceipt, 'erased' | 'found'> & { counts: Partial<ErasedCounts> }

export async function findReceipt(db: Queryable, erasureId: string): Promise<ErasureReceipt | null> {
  const [row] = await run<ReceiptRow>(
    db,
    'find-receipt',
    `select p.erasure_id as "receiptId", p.state, p.counts, p.company_id as "companyId", p.subject_hashes as "subjectHashes",
       p.requested_by as "requestedBy", ${iso('p.requested_at')} as "requestedAt", ${iso('p.finished_at')} as "finishedAt",
       p.records_kept as "recordsKept", ${waitingOf('p')} as waiting,
       (select coalesce(json_agg(json_build_object('receiptId', o.erasure_id, 'waiting', ${waitingOf('o')}) order by o.requested_at), '[]')
         from person_erasures o where o.state <> 'done' and o.erasure_id <> p.erasure_id and o.requested_at <= p.requested_at
           and p.subject_hashes && (o.subject_hashes || o.found_hashes)
           and (o.company_id is null or p.company_id is null or o.company_id = p.company_id)) as unfinished
     from person_erasures p where p.erasure_id = $1`,
    [erasureId],
  )
  if (!row) return null
  const { receiptId, state, counts, waiting, ...rest } = row
  const erased = Object.fromEntries(ERASED_KINDS.map(kind => [kind, counts[kind] ?? 0])) as ErasedCounts
  const found = waiting > 0 || Object.values(erased).some(count => count > 0)
  return { receiptId, state, found, erased, waiting, ...rest }
}
