import type { BatchError } from '../../contracts/refusal.ts'
import type { DatabaseClock } from '../clock.ts'
import { isMissingPartition } from '../errors.ts'
import { type Queryable, run } from '../query.ts'
import { writeBatchOrSingly } from '../retries.ts'
import { acceptStatement } from './accept-statement.ts'
import { ensurePartitions } from './partitions.ts'

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
  /** Begins with `test:` for mail of test keys: their recipients are others than the live ones. */
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
  /** null: neither the company nor the request chose one. */
  retryPolicy: string | null
  onUnknown: string
  maxAttempts: number
  delayMs: number | null
  scheduledAt: string | null
  html: string | null
  /** That it was checked. */
  htmlProof: string | null
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

type AcceptRow = { i: number; verdict: string; suppressed: string[] | null; queuedAt: string }

const PLAIN = acceptStatement({ keys: false, people: false, files: false, extras: false })
const FULL = acceptStatement({ keys: true, people: true, files: true, extras: true })

/** Accepts units with one commit. A value that Postgres refuses harms its own unit only. */
export async function acceptUnits(
  db: Queryable,
  units: AcceptUnit[],
  clock: DatabaseClock | null = null,
): Promise<(UnitOutcome | Error)[]> {
  return writeBatchOrSingly(units, async some => {
    try {
      return await acceptTogether(db, some)
    } catch (error) {
      if (!isMissingPartition(error)) throw error
      await ensurePartitions(db)
      // Or the ids are of another day than the database's. Nothing was written, so they can be made anew.
      if (clock) await renewIds(some, clock)
      return acceptTogether(db, some)
    }
  })
}

async function renewIds(units: AcceptUnit[], clock: DatabaseClock): Promise<void> {
  await clock.measure()
  for (const draft of units.flatMap(unit => unit.drafts)) {
    draft.outboxId = clock.newId()
    draft.eventId = clock.newId()
  }
}

async function acceptTogether(db: Queryable, units: AcceptUnit[]): Promise<(UnitOutcome | Error)[]> {
  const firstUse = withoutRepeatedKeys(units)
  const rows = firstUse.every(isPlain)
    ? await run<AcceptRow>(db, 'accept-plain', PLAIN, plainParameters(firstUse))
    : await run<AcceptRow>(db, 'accept-full', FULL, [...plainParameters(firstUse), ...fullParameters(firstUse)])
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
  // What was accepted is committed: a failing look-up of somebody's key must not reach the neighbours.
  return Promise.all(units.map(unit => outcomes.get(unit) ?? recall(db, unit).catch((error: Error) => error)))
}

function isPlain({ idempotency, drafts }: AcceptUnit): boolean {
  return (
    idempotency === null &&
    drafts.every(draft => !RARE.some(field => draft[field] !== null) && draft.attachments.length === 0)
  )
}

const RARE = ['person', 'delayMs', 'scheduledAt', 'template', 'replyTo', 'headers', 'variables'] as const

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
    queuedAt: rows[0]!.queuedAt,
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

/** Tags hold no control character (contracts/send-body.ts), so this one separates them. */
const TAG_SEPARATOR = '\u001f'

/** What every e-mail has. Absent keys are SQL nulls, and cost no bytes. */
function plainParameters(units: AcceptUnit[]): string[] {
  const emails: object[] = []
  const addresses: object[] = []
  units.forEach((unit, u) => {
    for (const draft of unit.drafts) {
      const i = emails.length + 1
      emails.push(emailRow(draft, i, u, unit.strict))
      draft.addresses.forEach((one, ordinal) => {
        const { kind, address, hash, key } = one
        const test = draft.test || undefined
        addresses.push({
          i,
          company: draft.companyId,
          test,
          ordinal,
          kind,
          address,
          name: one.name ?? undefined,
          key,
          hash,
        })
      })
    }
  })
  return [JSON.stringify(emails), JSON.stringify(addresses)]
}

function emailRow(draft: Draft, i: number, u: number, strict: boolean): object {
  return {
    i,
    u,
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
  }
}

/** People, keys, files and extras: what few e-mails have, as JSON. */
function fullParameters(units: AcceptUnit[]): string[] {
  const people: object[] = []
  const keys: object[] = []
  const files: object[] = []
  const extras: object[] = []
  let i = 0
  units.forEach((unit, u) => {
    const { companyId: company, requestId } = unit.drafts[0]!
    if (unit.idempotency)
      keys.push({ u, company, ...unit.idempotency, answer: { requestId, refusedBefore: unit.refusedBefore } })
    for (const draft of unit.drafts) {
      i++
      extras.push(extrasRow(draft, i))
      if (draft.person) people.push(personRow(draft.person, i, company))
      draft.attachments.forEach((file, ordinal) => {
        const { filename, contentType: content_type, contentId: content_id, base64 } = file
        files.push({ i, ordinal, filename, content_type, content_id, base64 })
      })
    }
  })
  return [people, keys, files, extras].map(rows => JSON.stringify(rows))
}

function extrasRow(draft: Draft, i: number): object {
  const { index: n, template, delayMs: delay_ms, scheduledAt: scheduled, replyTo: reply_to, headers, variables } = draft
  return { i, n, template, delay_ms, scheduled, reply_to, headers, variables }
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
