import type { DatabaseClock } from '../platform/postgres/clock.ts'
import { isMissingPartition } from '../platform/postgres/errors.ts'
import { ensurePartitions } from '../platform/postgres/partitions.ts'
import { type Queryable, run, sql } from '../platform/postgres/query.ts'
import { writeBatchOrSingly } from '../platform/postgres/retries.ts'
import { acceptStatement } from './accept-statement.ts'
import type { Draft, DraftRecipientRecord, MemberResult, RequestAnswer, RequestToStore, StoreOutcome } from './draft.ts'

type AcceptRow = { i: number; status: string; suppressed: string[] | null; queuedAt: string }

const PLAIN = acceptStatement(false)
const FULL = acceptStatement(true)

/** Accepts requests with one commit. A value that Postgres refuses harms its own request only. */
export async function acceptRequests(
  db: Queryable,
  requests: RequestToStore[],
  clock: DatabaseClock | null = null,
): Promise<(StoreOutcome | Error)[]> {
  return writeBatchOrSingly(requests, async some => {
    try {
      return await storeTogether(db, some)
    } catch (error) {
      if (!isMissingPartition(error)) throw error
      await ensurePartitions(db)
      // Or the ids are of another day than the database's. Nothing was written, so they can be made anew.
      if (clock) await renewIds(some, clock)
      return storeTogether(db, some)
    }
  })
}

async function renewIds(requests: RequestToStore[], clock: DatabaseClock): Promise<void> {
  await clock.measure()
  for (const draft of requests.flatMap(request => request.drafts)) {
    draft.outboxId = clock.newId()
    draft.eventId = clock.newId()
  }
}

async function storeTogether(db: Queryable, requests: RequestToStore[]): Promise<(StoreOutcome | Error)[]> {
  const firstUse = withoutRepeatedKeys(requests)
  const { full, parameters } = acceptParameters(firstUse)
  const rows = await run<AcceptRow>(db, full ? 'accept-full' : 'accept-plain', full ? FULL : PLAIN, parameters)
  const outcomes = new Map<RequestToStore, StoreOutcome | null>()
  let next = 0
  for (const request of firstUse) {
    const own = rows.slice(next, next + request.drafts.length)
    next += request.drafts.length
    outcomes.set(
      request,
      own[0]?.status === 'KEY_TAKEN' ? null : { kind: 'answered', replayed: false, answer: answerOf(request, own) },
    )
  }
  // What was accepted is committed: a failing look-up of somebody's key must not reach the neighbours.
  return Promise.all(
    requests.map(request => outcomes.get(request) ?? answerFromKey(db, request).catch((error: Error) => error)),
  )
}

/** Two requests with one key in the same batch: the first is accepted, the others are answered from its record. */
function withoutRepeatedKeys(requests: RequestToStore[]): RequestToStore[] {
  const seen = new Set<string>()
  return requests.filter(({ idempotency, drafts }) => {
    if (!idempotency) return true
    const name = `${drafts[0]!.companyId} ${idempotency.key}`
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

function answerOf(request: RequestToStore, rows: AcceptRow[]): RequestAnswer {
  return {
    requestId: request.drafts[0]!.requestId,
    queuedAt: rows[0]!.queuedAt,
    refusedBefore: request.refusedBefore,
    results: rows.map((row, index) => ({
      index: request.drafts[index]!.index,
      status: row.status as MemberResult['status'],
      outboxId: request.drafts[index]!.outboxId,
      suppressed: row.suppressed ?? [],
    })),
  }
}

type KeyRow = { same: boolean; answer: RequestAnswer }

/** The key has been used before: repeat its answer, or say that the body is another one. */
async function answerFromKey(db: Queryable, request: RequestToStore): Promise<StoreOutcome> {
  const { key, fingerprint } = request.idempotency!
  const [known] = await sql<KeyRow>(db, 'read-idempotency-key')`
    select fingerprint = decode(${fingerprint}, 'hex') as same, answer from idempotency_keys
     where company_id = ${request.drafts[0]!.companyId} and key = ${key} and expires_at > now()`
  if (!known) return { kind: 'key-still-running' }
  if (!known.same) return { kind: 'key-used-for-another-body' }
  return { kind: 'answered', replayed: true, answer: known.answer }
}

/** Tags hold no control character (send-body.ts), so this one separates them. */
const TAG_SEPARATOR = '\u001f'

/** `full`: something in the batch needs the full statement. Absent JSON keys are SQL nulls, and cost no bytes. */
export type AcceptParameters = { full: boolean; parameters: string[] }

/** The parameters of the accept statement: one JSON array of rows for each. `i` numbers the e-mails of the batch, `u` its requests. */
export function acceptParameters(requests: RequestToStore[]): AcceptParameters {
  const emails: object[] = []
  const addresses: object[] = []
  const rare = { recipientRecords: [] as object[], keys: [] as object[], files: [] as object[], extras: [] as object[] }
  requests.forEach((request, u) => {
    if (request.idempotency) rare.keys.push(keyRow(request, u))
    for (const draft of request.drafts) {
      const i = emails.length + 1
      emails.push(emailRow(draft, i, u, request.strict))
      addresses.push(...addressRows(draft, i))
      rare.extras.push(...extrasRows(draft, i))
      rare.files.push(...fileRows(draft, i))
      if (draft.recipientRecord) rare.recipientRecords.push(recipientRow(draft.recipientRecord, i, draft.companyId))
    }
  })
  const rareRows = [rare.recipientRecords, rare.keys, rare.files, rare.extras]
  const full = rareRows.some(rows => rows.length > 0)
  return { full, parameters: [emails, addresses, ...(full ? rareRows : [])].map(rows => JSON.stringify(rows)) }
}

/** The fields that every e-mail has, and those that are common. */
function emailRow(draft: Draft, i: number, u: number, strict: boolean): object {
  return {
    i,
    u,
    n: draft.index,
    strict,
    id: draft.outboxId,
    event_id: draft.eventId,
    company: draft.companyId,
    request: draft.requestId,
    external: draft.externalId ?? undefined,
    test: draft.test,
    sender: draft.from,
    subject: draft.subject ?? undefined,
    tags: draft.tags.join(TAG_SEPARATOR),
    priority: draft.priority,
    policy: draft.retryPolicy ?? undefined,
    unknown: draft.onUnknown,
    max: draft.maxAttempts,
    html: draft.html ?? undefined,
    proof: draft.htmlProof ?? undefined,
    body: draft.text ?? undefined,
    to_hash: draft.addresses[0]!.hash,
    // Not among the rare fields: at one in a hundred, most batches have one, and would need the full statement.
    trace: draft.traceparent ?? undefined,
  }
}

function addressRows({ addresses, companyId: company, test }: Draft, i: number): object[] {
  return addresses.map(({ kind, address, name, key, hash }, ordinal) => ({
    i,
    company,
    test: test || undefined,
    ordinal,
    kind,
    address,
    name: name ?? undefined,
    key,
    hash,
  }))
}

/** The fields that few e-mails have: none, or one row. */
function extrasRows(draft: Draft, i: number): object[] {
  const extras = {
    template: draft.template ?? undefined,
    template_version: draft.templateVersion ?? undefined,
    delay_ms: draft.delayMs ?? undefined,
    scheduled: draft.scheduledAt ?? undefined,
    reply_to: draft.replyTo ?? undefined,
    headers: draft.headers ?? undefined,
    variables: draft.variables ?? undefined,
    resend_of: draft.resendOf ?? undefined,
  }
  return Object.values(extras).some(value => value !== undefined) ? [{ i, ...extras }] : []
}

function fileRows({ attachments }: Draft, i: number): object[] {
  return attachments.map(({ filename, contentType: content_type, contentId: content_id, base64 }, ordinal) => ({
    i,
    ordinal,
    filename,
    content_type,
    content_id,
    base64,
  }))
}

function keyRow({ drafts, idempotency, refusedBefore }: RequestToStore, u: number): object {
  const { companyId: company, requestId } = drafts[0]!
  return { u, company, ...idempotency, answer: { requestId, refusedBefore } }
}

function recipientRow(record: DraftRecipientRecord, i: number, company: string): object {
  return {
    i,
    company,
    id: record.recipientId,
    must_exist: record.mustExist,
    identity: record.identity,
    external: record.externalId,
    doc_hash: record.cpfCnpjHash,
    doc_cipher: record.cpfCnpjCipher,
    razao_social: record.razaoSocial,
    nome: record.nome,
    email: record.email,
  }
}
