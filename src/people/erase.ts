import type pg from 'pg'
import { writeAudit } from '../audit/audit.ts'
import { type Batch, carryOutJob, type Job, type JobKind, submitJob } from '../jobs/jobs.ts'
import { cancelEmail } from '../outbox/schedule.ts'
import { FINAL_STATUSES } from '../outbox/states.ts'
import { fragment, inTransaction, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { parseBareAddress } from '../platform/text/addresses.ts'
import { hashDocument } from '../platform/text/hashing.ts'
import { uuidv7 } from '../platform/text/uuid.ts'
import {
  ERASED_KINDS,
  type ErasedCounts,
  type ErasureReceipt,
  type FoundPerson,
  findPerson,
  listOtherRecords,
  listPersonEmails,
  type Person,
  type PersonEmail,
  personAddressHash,
  personHashes,
} from './people.ts'

/** One commit each, so that nobody waits long for a lock and a crash loses little. */
const BATCH = 200

type ErasureRequest = { person: Person; companyId: string | null; requestedBy: string; pepper: string }

/** Recorded with its audit entries in one commit. From then on it is carried out, even if this process dies. */
export async function requestErasure(pool: pg.Pool, request: ErasureRequest): Promise<string> {
  const { person, companyId, requestedBy, pepper } = request
  const { addresses, recipientIds } = await findPerson(pool, personQuery(person, companyId, pepper))
  const jobId = uuidv7()
  const subjectHashes = personHashes(person, companyId, pepper)
  const foundHashes = addresses.map(address => personAddressHash(address, pepper))
  await inTransaction(pool, async tx => {
    const job = { companyId, requestedBy, reason: null, isBulkAction: false, total: 0 }
    await submitJob(tx, { jobId, kind: 'erase-person', input: {}, ...job })
    await sql(tx, 'put-erasure')`
      insert into person_erasures (erasure_id, subject_hashes, addresses, recipient_ids, found_hashes)
      values (${jobId}, ${subjectHashes}, ${addresses}, ${recipientIds}, ${foundHashes})`
    for (const subjectId of subjectHashes) {
      const entry = { action: 'ERASURE_REQUESTED', subjectType: 'person', subjectId } as const
      await writeAudit(tx, { ...entry, companyId, performedBy: requestedBy, after: { receiptId: jobId } })
    }
  })
  return jobId
}

export const personQuery = (person: Person, companyId: string | null, pepper: string) => ({
  companyId,
  email: person.email ?? null,
  documentHash: person.cpf === undefined ? null : hashDocument(person.cpf, pepper),
  externalId: person.externalId ?? null,
})

/** Erases for so long, or until nothing is left or moves. Then the workers go on: what is being sent is erased when it has ended. */
export async function eraseWithin(pool: pg.Pool, erasureId: string, patienceMs: number): Promise<ErasureReceipt> {
  const deadlineMs = performance.now() + patienceMs
  await carryOutJob(pool, erasureId, erasureJobs, { isOver: () => performance.now() > deadlineMs })
  return (await findReceipt(pool, erasureId))!
}

/** A person's right: it never fails for good. */
export const erasureJobs: JobKind = { name: 'erase-person', maxErrors: Number.POSITIVE_INFINITY, nextBatch: eraseBatch }

async function eraseBatch(tx: Queryable, job: Job): Promise<Batch> {
  const [searched] = await sql<FoundPerson>(tx, 'read-erasure')`
    select addresses, recipient_ids from person_erasures where erasure_id = ${job.jobId} and addresses is not null`
  const batch = searched ? await search(tx, job, searched) : await eraseListed(tx, job)
  return { position: {}, ...batch }
}

type ErasureBatch = { counts: Partial<ErasedCounts>; next: Batch['next'] }

/** Lists all e-mails of the person, then forgets what was searched for. Killed, it begins again and lists the same. */
async function search(tx: Queryable, { jobId, companyId }: Job, person: FoundPerson): Promise<ErasureBatch> {
  // Nothing was sent to a text that is no address, and a short one could be a part of somebody else's address.
  const sendable = person.addresses.filter(address => parseBareAddress(address).ok)
  const { erased: providerEvents, waiting } = await eraseProviderEvents(tx, sendable)
  if (waiting > 0) return { counts: { providerEvents }, next: 'soon' }
  const otherRecords = new Set<string>()
  let after: string | null = null
  do {
    const page = await listPersonEmails(tx, person, companyId, { after, limit: BATCH })
    await listForErasure(tx, jobId, page.emails)
    for (const id of await listOtherRecords(tx, page.emails, person)) otherRecords.add(id)
    after = page.next
  } while (after !== null)
  const recipientRecords = await endSearch(tx, jobId, otherRecords.size)
  return { counts: { providerEvents, recipientRecords }, next: 'more' }
}

async function eraseListed(tx: Queryable, job: Job): Promise<ErasureBatch> {
  const { jobId } = job
  await expireUnknownSends(tx, jobId)
  const emails = await takeEmailsToErase(tx, jobId, BATCH)
  if (emails.length === 0) return { counts: {}, next: await afterTheLast(tx, job) }
  const shared = emails.filter(email => email.next === 'take-off')
  const own = emails.filter(email => email.next !== 'take-off')
  const takenOff = await takeOff(tx, jobId, shared)
  const held = await lockDeliveries(
    tx,
    own.map(email => email.outboxId),
  )
  const free = own.filter(email => !held.has(email.outboxId))
  const waiting = free.filter(email => email.next === 'cancel')
  for (const { outboxId } of waiting) await cancelEmail(tx, outboxId, null, 'erasure')
  const erased = await eraseEmails(tx, jobId, free)
  const next = shared.length + free.length > 0 ? 'more' : 'soon'
  return { counts: { ...sum(erased, takenOff), cancelled: waiting.length }, next }
}

function sum(a: Partial<ErasedCounts>, b: Partial<ErasedCounts>): Partial<ErasedCounts> {
  return { ...a, ...b, recipients: (a.recipients ?? 0) + (b.recipients ?? 0) }
}

/** Nothing is sent any more. SENT is among them: an event that follows is stored without personal data. */
const ENDED = [...FINAL_STATUSES, 'SENT'] as const
const list = (statuses: readonly string[]) => fragment`${statuses.map(status => `'${status}'`).join(', ')}`

type EmailToErase = PersonEmail & {
  /** erase: it has ended. cancel: it waits for this person alone. take-off: it waits for other recipients, too. */
  next: 'erase' | 'cancel' | 'take-off'
}

/** Locked until the transaction ends. What is being sent, or what somebody else holds, is left for the next call. */
async function takeEmailsToErase(tx: Queryable, erasureId: string, limit: number): Promise<EmailToErase[]> {
  return sql<EmailToErase>(tx, 'take-emails-to-erase')`
    select e.outbox_id, e.ordinals, case when o.status in (${list(ENDED)}) then 'erase'
       when exists (select from email_recipients r where r.outbox_id = e.outbox_id and r.kind = 'to' and not r.suppressed
         and r.ordinal <> all(e.ordinals)) then 'take-off' else 'cancel' end as next
     from person_erasure_emails e join email_outbox o on o.outbox_id = e.outbox_id
     where e.erasure_id = ${erasureId} and (o.status in (${list(ENDED)})
       or (o.status in ('PENDING', 'RETRY_SCHEDULED') and o.started_at is null and not e.taken_off))
     order by e.outbox_id limit ${limit} for update of o skip locked`
}

/**
 * Locks the webhook deliveries of these e-mails until the transaction ends, and returns the e-mails of those that somebody else holds:
 * the outcome that is being written there may keep a body with the address, which this transaction could not see.
 */
async function lockDeliveries(tx: Queryable, outboxIds: string[]): Promise<Set<string>> {
  if (outboxIds.length === 0) return new Set()
  const rows = await sql<{ outboxId: string }>(tx, 'lock-deliveries-of-emails')`
    with locked as materialized (
       select d.endpoint_id, d.delivery_id from webhook_deliveries d where d.outbox_id = any(${outboxIds}::uuid[]) for update skip locked)
     select distinct d.outbox_id from webhook_deliveries d
     where d.outbox_id = any(${outboxIds}::uuid[]) and (d.endpoint_id, d.delivery_id) not in (select endpoint_id, delivery_id from locked)`
  return new Set(rows.map(row => row.outboxId))
}

/** As many as RETENTION_IDEMPOTENCY_DAYS may be. */
const MAX_IDEMPOTENCY_DAYS = 30

/** How long evidence about an unknown send is still waited for. */
const EVIDENCE = fragment`interval '2 minutes'`

/** Unknown sends must not be sent again to this person: they expire now, and are given up when no evidence comes. */
async function expireUnknownSends(tx: Queryable, erasureId: string): Promise<void> {
  await sql(tx, 'expire-unknown-sends-of-person')`
    with expired as (
       update email_outbox o set expires_at = now() from person_erasure_emails e
       where e.erasure_id = ${erasureId} and o.outbox_id = e.outbox_id and o.status = 'UNKNOWN' and o.expires_at > now() returning o.outbox_id)
     update unknown_sends u set resolve_at = least(u.resolve_at, now() + ${EVIDENCE}) from expired where u.outbox_id = expired.outbox_id`
}

/** The e-mails still go to their other recipients. Their content is erased when they have ended. */
async function takeOff(tx: Queryable, erasureId: string, emails: PersonEmail[]): Promise<Partial<ErasedCounts>> {
  if (emails.length === 0) return {}
  const [row] = await sql<{ recipients: number }>(tx, 'take-off-emails')`
    with input as materialized (
       select * from json_to_recordset(${JSON.stringify(emails)}::json) as x("outboxId" uuid, ordinals smallint[])
     ), erased as (
       update email_recipients r set address = null, display_name = null, address_key = null, suppressed = true, status = 'REJECTED'
       from input i where r.outbox_id = i."outboxId" and r.ordinal = any(i.ordinals) and r.address is not null returning 1
     ), marked as (
       update person_erasure_emails e set taken_off = true from input i where e.erasure_id = ${erasureId} and e.outbox_id = i."outboxId"
     )
     select count(*)::int as recipients from erased`
  return row!
}

/**
 * Everything that e-mails which have ended hold about a person. Other recipients keep their addresses; the content is shared, so it
 * goes. An idempotency key was written by the statement that accepted the e-mail, so its expiry is whole days after created_at.
 */
const ERASE = `
with input as materialized (
  select * from json_to_recordset($2::json) as x("outboxId" uuid, ordinals smallint[])
), ids as materialized (
  select array_agg("outboxId") as all from input
), emails as (
  update email_outbox o set subject = null, external_id = null, recipient_id = null, user_id = null, tags = '{}', erased_at = now(),
    failure_reason = case when o.failure_reason is not null then coalesce(o.error_code, 'ERASED') end
  where o.outbox_id = any((select ids.all from ids)::uuid[]) returning o.outbox_id, o.company_id, o.created_at
), recipients as (
  update email_recipients r set address = null, display_name = null, address_key = null
  from input i where r.outbox_id = i."outboxId" and r.ordinal = any(i.ordinals) and r.address is not null returning 1
), contents as (
  delete from email_content c where c.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), attachments as (
  delete from email_attachments f where f.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), events as (
  update email_events v set metadata = without_personal_data(v.metadata)
  where v.outbox_id = any((select ids.all from ids)::uuid[]) and v.metadata <> without_personal_data(v.metadata) returning 1
), captured as (
  delete from capture_inbox c where c.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), webhooks as (
  update webhook_deliveries d set body = null, data = null, last_answer = null
  where d.outbox_id = any((select ids.all from ids)::uuid[]) and num_nonnulls(d.body, d.data, d.last_answer) > 0 returning 1
), dead as (
  update dead_letters d set original_data = null, last_failure_reason = coalesce(d.last_failure_code, 'ERASED'),
    retry_history = coalesce((select jsonb_agg(one - 'message') from jsonb_array_elements(d.retry_history) as one), '[]')
  where d.outbox_id = any((select ids.all from ids)::uuid[]) returning 1
), answers as (
  -- The key stays, so that a repeated request is still answered and not sent again.
  -- Which members were refused, and by which code, stays: only the messages may quote what was sent.
  update idempotency_keys k set answer = k.answer || jsonb_build_object(
    'results', (select jsonb_agg(one || '{"suppressed": []}') from jsonb_array_elements(k.answer -> 'results') as one),
    'refusedBefore', (select coalesce(jsonb_agg(one || '{"message": "(erased)"}'), '[]') from jsonb_array_elements(k.answer -> 'refusedBefore') as one))
  where (k.company_id, k.key) in (
    select found.company_id, found.key from emails e join idempotency_keys found on found.company_id = e.company_id
      and found.expires_at = any(array(select e.created_at + n * interval '24 hours' from generate_series(1, ${MAX_IDEMPOTENCY_DAYS}) as n))
      and found.answer -> 'results' @> jsonb_build_array(jsonb_build_object('outboxId', e.outbox_id))) returning 1
), listed as (
  delete from person_erasure_emails e where e.erasure_id = $1 and e.outbox_id = any((select ids.all from ids)::uuid[])
)
select (select count(*) from emails)::int as emails, (select count(*) from recipients)::int as recipients,
  (select count(*) from contents)::int as contents, (select count(*) from attachments)::int as attachments,
  (select count(*) from events)::int as events, (select count(*) from captured)::int as captured,
  (select count(*) from webhooks)::int as "webhookDeliveries", (select count(*) from dead)::int as "deadLetters",
  (select count(*) from answers)::int as "idempotencyAnswers"`

async function eraseEmails(tx: Queryable, erasureId: string, emails: PersonEmail[]): Promise<Partial<ErasedCounts>> {
  if (emails.length === 0) return {}
  const [row] = await run<Partial<ErasedCounts>>(tx, 'erase-emails', ERASE, [erasureId, JSON.stringify(emails)])
  return row!
}

/** An event that is younger is likely to be processed now, which deletes its content. */
const YOUNG = fragment`interval '1 minute'`

/** Stored provider events that quote one of the addresses and found no e-mail. `waiting`: young ones, to be looked at again. */
async function eraseProviderEvents(tx: Queryable, addresses: string[]): Promise<{ erased: number; waiting: number }> {
  const [row] = await sql<{ erased: number; waiting: number }>(tx, 'erase-provider-events')`
    with quoting as materialized (
       select e.event_id, e.state = 'waiting' and e.received_at > now() - ${YOUNG} as young from provider_events e
       where e.state in ('unmatched', 'unreadable', 'waiting') and e.payload is not null
         and exists (select from unnest(${addresses}::text[]) as address where position(address in lower(e.payload)) > 0)
     ), erased as (
       update provider_events e set payload = null, note = 'erased', state = case when e.state = 'waiting' then 'ignored' else e.state end
       from quoting q where e.event_id = q.event_id and not q.young returning 1
     )
     select (select count(*) from erased)::int as erased, (select count(*) from quoting where young)::int as waiting`
  return row!
}

/** Lists e-mails to erase. One that is listed already gets the recipients added. */
async function listForErasure(tx: Queryable, erasureId: string, emails: PersonEmail[]): Promise<void> {
  if (emails.length === 0) return
  await sql(tx, 'list-for-erasure')`
    insert into person_erasure_emails as e (erasure_id, outbox_id, ordinals)
     select ${erasureId}, x."outboxId", x.ordinals from json_to_recordset(${JSON.stringify(emails)}::json) as x("outboxId" uuid, ordinals smallint[])
     on conflict (erasure_id, outbox_id) do update set ordinals = e.ordinals || excluded.ordinals`
}

/** Everything is listed: what was searched for is deleted, with the records of the person. Answers how many. */
async function endSearch(tx: Queryable, erasureId: string, recordsKept: number): Promise<number> {
  const [row] = await sql<{ count: number }>(tx, 'end-search')`
    with found as materialized (
       select recipient_ids from person_erasures where erasure_id = ${erasureId}
     ), erased as (
       delete from recipients r using found where r.recipient_id = any(found.recipient_ids) returning 1
     ), ended as (
       update person_erasures set addresses = null, recipient_ids = null, records_kept = ${recordsKept} where erasure_id = ${erasureId}
     )
     select count(*)::int as count from erased`
  return row!.count
}

/**
 * Done when no e-mail is left; the audit gets the receipt's counts in the same commit. Retention may have dropped e-mails meanwhile. What
 * only waits for other recipients may take days.
 */
async function afterTheLast(tx: Queryable, { jobId, companyId, requestedBy, counts }: Job): Promise<Batch['next']> {
  await sql(tx, 'forget-dropped-emails')`
    delete from person_erasure_emails e
     where e.erasure_id = ${jobId} and not exists (select from email_outbox o where o.outbox_id = e.outbox_id)`
  const [left] = await sql<{ waits: boolean | null }>(tx, 'read-erasure-rest')`
    select bool_and(taken_off) as waits from person_erasure_emails where erasure_id = ${jobId}`
  if (left!.waits !== null) return left!.waits ? 'later' : 'soon'
  const [ended] = await sql<{ subjectHashes: string[] }>(tx, 'end-erasure')`
    update person_erasures set found_hashes = '{}' where erasure_id = ${jobId} returning subject_hashes`
  for (const subjectId of ended!.subjectHashes) {
    const entry = { action: 'ERASED', subjectType: 'person', subjectId } as const
    await writeAudit(tx, { ...entry, companyId, performedBy: requestedBy, after: { receiptId: jobId, erased: counts } })
  }
  return 'end'
}

const waitingOf = (erasure: string) =>
  fragment`(select count(*) from person_erasure_emails e where e.erasure_id = ${erasure}.erasure_id)::int`

type ReceiptRow = Omit<ErasureReceipt, 'erased' | 'found'> & { counts: Partial<ErasedCounts> }

export async function findReceipt(db: Queryable, erasureId: string): Promise<ErasureReceipt | null> {
  const [row] = await sql<ReceiptRow>(db, 'find-receipt')`
    select p.erasure_id as "receiptId", j.counts, j.company_id, p.subject_hashes, j.requested_by, ${iso('j.created_at')} as "requestedAt",
       ${iso('j.finished_at')} as "finishedAt", p.records_kept, ${waitingOf('p')} as waiting,
       case when j.finished_at is not null then 'done' when p.addresses is not null then 'searching' else 'erasing' end as state,
       (select coalesce(json_agg(json_build_object('receiptId', o.erasure_id, 'waiting', ${waitingOf('o')}) order by k.created_at), '[]')
         from person_erasures o join jobs k on k.job_id = o.erasure_id
         where k.finished_at is null and o.erasure_id <> p.erasure_id and k.created_at <= j.created_at
           and p.subject_hashes && (o.subject_hashes || o.found_hashes)
           and (k.company_id is null or j.company_id is null or k.company_id = j.company_id)) as unfinished
     from person_erasures p join jobs j on j.job_id = p.erasure_id where p.erasure_id = ${erasureId}`
  if (!row) return null
  const { receiptId, state, counts, waiting, ...rest } = row
  const erased = Object.fromEntries(ERASED_KINDS.map(kind => [kind, counts[kind] ?? 0])) as ErasedCounts
  const found = waiting > 0 || Object.values(erased).some(count => count > 0)
  return { receiptId, state, found, erased, waiting, ...rest }
}
