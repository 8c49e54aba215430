import type { BatchError } from '../contracts/refusal.ts'
import { ensurePartitions } from './partitions.ts'
import { DatabaseUnavailable, isDataError, isMissingPartition, type Queryable, run } from './pool.ts'

export type DraftAddress = {
  kind: 'to' | 'cc' | 'bcc'
  address: string
  name: string | null
  /** Search key (see migrations) and suppression hash of the normalised address. */
  key: string
  hash: string
}

export type DraftPerson = {
  recipientId: string
  /** The caller named an existing recipientId: it must be there, and it must be this address. */
  mustExist: boolean
  identity: string
  externalId: string | null
  cpfCnpjHash: string | null
  cpfCnpjCipher: string | null
  razaoSocial: string | null
  nome: string | null
  email: string
}

export type DraftAttachment = { filename: string; contentType: string; contentId: string | null; base64: string }

/** An e-mail that passed every rule which needs no database. */
export type Draft = {
  /** Its place in the request. */
  index: number
  outboxId: string
  eventId: string
  companyId: string
  requestId: string
  externalId: string | null
  test: boolean
  from: string
  subject: string | null
  template: string | null
  tags: string[]
  priority: number
  retryPolicy: string
  onUnknown: string
  maxAttempts: number
  delayMs: number | null
  scheduledAt: string | null
  html: string | null
  text: string | null
  replyTo: string[] | null
  headers: Record<string, string> | null
  variables: Record<string, unknown> | null
  addresses: DraftAddress[]
  person: DraftPerson | null
  attachments: DraftAttachment[]
}

/** What is accepted or refused together: one request. */
export type AcceptUnit = {
  drafts: Draft[]
  /** All or none (true), or each on its own. */
  strict: boolean
  idempotency: { key: string; fingerprint: string } | null
  /** Kept with the idempotency key, so that a replay repeats the whole answer. */
  refusedBefore: BatchError[]
}

export type Verdict = {
  index: number
  verdict: 'ACCEPTED' | 'SUPPRESSED' | 'RECIPIENT_NOT_FOUND'
  outboxId: string
  /** Hashes of the addresses that are on the suppression list. */
  suppressed: string[]
}

export type UnitAnswer = { requestId: string; queuedAt: string; verdicts: Verdict[]; refusedBefore: BatchError[] }

export type UnitOutcome =
  | { kind: 'answered'; replayed: boolean; answer: UnitAnswer }
  | { kind: 'key-used-for-another-body' }
  | { kind: 'key-still-running' }

/**
 * One statement, one commit for all units. Reading order = order of the steps:
 * what came in → replays aside → suppression and recipients → verdict per e-mail → key → rows.
 * Keys and people are written in a fixed order, so that two processes cannot wait for each other in a circle.
 */
const ACCEPT = `
with clock as materialized (
  select to_jsonb(to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as instant
), input as materialized (
  select * from json_to_recordset($1::json) as x(
    i int, u int, n int, strict boolean, id uuid, event_id uuid, company uuid, request text, external text, test boolean,
    sender text, subject text, template text, tags text[], priority smallint, policy text, unknown text, max smallint,
    delay_ms double precision, scheduled timestamptz, html text, body text, reply_to text[], headers jsonb,
    variables jsonb, meta jsonb)
), addresses as materialized (
  select * from json_to_recordset($2::json) as x(
    i int, company uuid, ordinal smallint, kind text, address text, name text, key bigint, hash text)
), people as materialized (
  select * from json_to_recordset($3::json) as x(
    i int, id uuid, must_exist boolean, company uuid, identity text, external text, doc_hash text, doc_cipher text,
    razao_social text, nome text, email text)
), keys as materialized (
  select * from json_to_recordset($4::json) as x(u int, company uuid, key text, fingerprint text, answer jsonb)
), replayed as (
  select k.u from keys k
  join idempotency_keys known on known.company_id = k.company and known.key = k.key
  where known.expires_at > now()
), blocked as materialized (
  select a.i, a.ordinal, a.hash from addresses a
  join suppression_list s on s.email_hash = a.hash
  where (s.company_id is null or s.company_id = a.company) and (s.expires_at is null or s.expires_at > now())
), reachable as (
  select distinct a.i from addresses a
  where a.kind = 'to' and not exists (select from blocked b where b.i = a.i and b.ordinal = a.ordinal)
), strangers as (
  select p.i from people p
  left join recipients r on r.recipient_id = p.id and r.company_id = p.company and r.email = p.email and r.deleted_at is null
  where p.must_exist and r.recipient_id is null
), judged as materialized (
  select e.i, e.u, e.strict, case
    when not exists (select from reachable where reachable.i = e.i) then 'SUPPRESSED'
    when exists (select from strangers where strangers.i = e.i) then 'RECIPIENT_NOT_FOUND'
    else 'ACCEPTED' end as verdict,
    (select json_agg(b.hash order by b.ordinal) from blocked b where b.i = e.i) as suppressed
  from input e
), spoilt as (
  select u from judged where strict and verdict <> 'ACCEPTED' and u not in (select u from replayed)
), claimed as (
  insert into idempotency_keys (company_id, key, fingerprint, answer, expires_at)
  select k.company, k.key, decode(k.fingerprint, 'hex'), k.answer || jsonb_build_object('queuedAt', (select instant from clock), 'verdicts', v.verdicts),
    now() + interval '24 hours'
  from keys k
  cross join lateral (
    select jsonb_agg(jsonb_build_object('index', e.n, 'verdict', j.verdict, 'outboxId', e.id, 'suppressed', coalesce(j.suppressed, '[]'))
      order by j.i) as verdicts
    from judged j join input e using (i) where j.u = k.u) v
  where k.u not in (select u from replayed) and k.u not in (select u from spoilt)
  order by k.company, k.key
  on conflict (company_id, key) do update
    set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
    where idempotency_keys.expires_at <= now()
  returning company_id, key
), unclaimed as (
  select k.u from keys k left join claimed c on c.company_id = k.company and c.key = k.key where c.key is null
), accepted as materialized (
  select e.*, j.suppressed, coalesce(e.scheduled, now() + e.delay_ms * interval '1 millisecond') as due
  from input e join judged j using (i)
  where j.verdict = 'ACCEPTED' and e.u not in (select u from spoilt) and e.u not in (select u from unclaimed)
), known_people as (
  insert into recipients as r (recipient_id, company_id, identity, external_id, cpf_cnpj_hash, cpf_cnpj_cipher,
    razao_social, nome, email)
  select distinct on (p.company, p.identity) p.id, p.company, p.identity, p.external, p.doc_hash,
    decode(p.doc_cipher, 'base64'), p.razao_social, p.nome, p.email
  from people p join accepted a using (i) where not p.must_exist
  order by p.company, p.identity, p.i desc
  on conflict (company_id, identity) do update set
    external_id = coalesce(excluded.external_id, r.external_id), cpf_cnpj_hash = coalesce(excluded.cpf_cnpj_hash, r.cpf_cnpj_hash),
    cpf_cnpj_cipher = coalesce(excluded.cpf_cnpj_cipher, r.cpf_cnpj_cipher),
    razao_social = coalesce(excluded.razao_social, r.razao_social), nome = coalesce(excluded.nome, r.nome),
    email = excluded.email, updated_at = now(), deleted_at = null
  returning recipient_id, company_id, identity
), put_outbox as (
  insert into email_outbox (outbox_id, company_id, request_id, external_id, recipient_id, test, from_address, subject,
    template_type, tags, priority, retry_policy, on_unknown, max_attempts, scheduled_at, next_attempt_at, expires_at)
  select a.id, a.company, a.request, a.external, coalesce(kp.recipient_id, p.id), a.test, a.sender, a.subject,
    a.template, a.tags, a.priority, a.policy, a.unknown, a.max, a.due, a.due, coalesce(a.due, now()) + interval '24 hours'
  from accepted a
  left join people p using (i)
  left join known_people kp on kp.company_id = p.company and kp.identity = p.identity and not p.must_exist
), put_recipients as (
  insert into email_recipients (outbox_id, ordinal, kind, address, display_name, address_key, status, suppressed)
  select a.id, d.ordinal, d.kind, d.address, d.name, d.key, case when b.i is null then 'PENDING' else 'REJECTED' end, b.i is not null
  from accepted a join addresses d using (i) left join blocked b on b.i = d.i and b.ordinal = d.ordinal
), put_content as (
  insert into email_content (outbox_id, html, text, reply_to, headers, variables)
  select id, html, body, reply_to, headers, variables from accepted
), put_attachments as (
  insert into email_attachments (outbox_id, ordinal, filename, content_type, content_id, content)
  select a.id, f.ordinal, f.filename, f.content_type, f.content_id, decode(f.base64, 'base64')
  from accepted a join json_to_recordset($5::json) as f(
    i int, ordinal smallint, filename text, content_type text, content_id text, base64 text) using (i)
), put_events as (
  insert into email_events (outbox_id, event_id, type, metadata)
  select id, event_id, 'QUEUED', case when suppressed is null then meta || jsonb_build_object('queuedAt', (select instant from clock))
    else meta || jsonb_build_object('queuedAt', (select instant from clock), 'suppressed', suppressed) end
  from accepted
), put_ready as (
  insert into email_ready (company_id, priority, outbox_id)
  select company, priority, id from accepted where due is null or due <= now()
), put_scheduled as (
  insert into email_scheduled (due_at, outbox_id, company_id, priority)
  select due, id, company, priority from accepted where due > now()
)
select j.i, case when j.u in (select u from unclaimed) and j.u not in (select u from spoilt) then 'KEY_TAKEN' else j.verdict end as verdict,
  j.suppressed, now() as queued_at
from judged j order by j.i`

type AcceptRow = { i: number; verdict: string; suppressed: string[] | null; queued_at: Date }

/** Accepts units with one commit. A value that Postgres refuses harms its own unit only. */
export async function acceptUnits(db: Queryable, units: AcceptUnit[]): Promise<(UnitOutcome | Error)[]> {
  try {
    return await acceptTogether(db, units)
  } catch (error) {
    if (isMissingPartition(error)) {
      await ensurePartitions(db)
      return acceptTogether(db, units)
    }
    if (!isDataError(error) || error instanceof DatabaseUnavailable) throw error
    if (units.length === 1) return [error as Error]
    const outcomes: (UnitOutcome | Error)[] = []
    for (const unit of units) outcomes.push(...(await acceptUnits(db, [unit])))
    return outcomes
  }
}

async function acceptTogether(db: Queryable, units: AcceptUnit[]): Promise<UnitOutcome[]> {
  const firstUse = withoutRepeatedKeys(units)
  const rows = await run<AcceptRow>(db, 'accept', ACCEPT, parametersOf(firstUse))
  const outcomes = new Map<AcceptUnit, UnitOutcome | null>()
  let next = 0
  for (const unit of firstUse) {
    const own = rows.slice(next, next + unit.drafts.length)
    next += unit.drafts.length
    outcomes.set(
      unit,
      own[0]?.verdict === 'KEY_TAKEN' ? null : { kind: 'answered', replayed: false, answer: answerOf(unit, own) },
    )
  }
  return Promise.all(units.map(unit => outcomes.get(unit) ?? recall(db, unit)))
}

/** Two requests with one key in the same batch: the first is accepted, the others are answered from its record. */
function withoutRepeatedKeys(units: AcceptUnit[]): AcceptUnit[] {
  const seen = new Set<string>()
  return units.filter(({ idempotency, drafts }) => {
    if (!idempotency) return true
    const name = `${drafts[0]!.companyId} ${idempotency.key}`
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

function answerOf(unit: AcceptUnit, rows: AcceptRow[]): UnitAnswer {
  return {
    requestId: unit.drafts[0]!.requestId,
    queuedAt: rows[0]!.queued_at.toISOString(),
    refusedBefore: unit.refusedBefore,
    verdicts: rows.map((row, index) => ({
      index: unit.drafts[index]!.index,
      verdict: row.verdict as Verdict['verdict'],
      outboxId: unit.drafts[index]!.outboxId,
      suppressed: row.suppressed ?? [],
    })),
  }
}

type KeyRow = { same: boolean; answer: UnitAnswer }

/** The key has been used before: repeat its answer, or say that the body is another one. */
async function recall(db: Queryable, unit: AcceptUnit): Promise<UnitOutcome> {
  const { key, fingerprint } = unit.idempotency!
  const [known] = await run<KeyRow>(
    db,
    'recall-idempotency-key',
    `select fingerprint = decode($3, 'hex') as same, answer from idempotency_keys
     where company_id = $1 and key = $2 and expires_at > now()`,
    [unit.drafts[0]!.companyId, key, fingerprint],
  )
  if (!known) return { kind: 'key-still-running' }
  if (!known.same) return { kind: 'key-used-for-another-body' }
  return { kind: 'answered', replayed: true, answer: known.answer }
}

function parametersOf(units: AcceptUnit[]): string[] {
  const emails: object[] = []
  const addresses: object[] = []
  const people: object[] = []
  const keys: object[] = []
  const files: object[] = []
  units.forEach((unit, u) => {
    const company = unit.drafts[0]!.companyId
    if (unit.idempotency) {
      const answer = { requestId: unit.drafts[0]!.requestId, refusedBefore: unit.refusedBefore }
      keys.push({ u, company, ...unit.idempotency, answer })
    }
    for (const draft of unit.drafts) {
      const i = emails.length
      emails.push(emailRow(draft, i, u, unit.strict))
      draft.addresses.forEach((address, ordinal) => void addresses.push({ i, company, ordinal, ...address }))
      if (draft.person) people.push(personRow(draft.person, i, company))
      draft.attachments.forEach(
        (file, ordinal) =>
          void files.push({
            i,
            ordinal,
            filename: file.filename,
            content_type: file.contentType,
            content_id: file.contentId,
            base64: file.base64,
          }),
      )
    }
  })
  return [emails, addresses, people, keys, files].map(rows => JSON.stringify(rows))
}

/** Absent keys become SQL nulls: undefined costs no bytes. */
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
    template: draft.template ?? undefined,
    tags: draft.tags,
    priority: draft.priority,
    policy: draft.retryPolicy,
    unknown: draft.onUnknown,
    max: draft.maxAttempts,
    delay_ms: draft.delayMs ?? undefined,
    scheduled: draft.scheduledAt ?? undefined,
    html: draft.html ?? undefined,
    body: draft.text ?? undefined,
    reply_to: draft.replyTo ?? undefined,
    headers: draft.headers ?? undefined,
    variables: draft.variables ?? undefined,
    meta: {
      recipientHash: draft.addresses[0]!.hash,
      priority: draft.priority,
      externalId: draft.externalId ?? undefined,
    },
  }
}

function personRow(person: DraftPerson, i: number, company: string): object {
  return {
    i,
    company,
    id: person.recipientId,
    must_exist: person.mustExist,
    identity: person.identity,
    external: person.externalId,
    doc_hash: person.cpfCnpjHash,
    doc_cipher: person.cpfCnpjCipher,
    razao_social: person.razaoSocial,
    nome: person.nome,
    email: person.email,
  }
}
