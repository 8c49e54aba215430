import type { BatchError } from '../contracts/refusal.ts'
import { acceptStatement } from './accept-statement.ts'
import { ensurePartitions } from './partitions.ts'
import { isMissingPartition, type Queryable, run, together } from './pool.ts'

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

type AcceptRow = { i: number; verdict: string; suppressed: string[] | null; queuedAt: string }

const PLAIN = acceptStatement({ keys: false, people: false, files: false, schedule: false })
const FULL = acceptStatement({ keys: true, people: true, files: true, schedule: true })

/** Accepts units with one commit. A value that Postgres refuses harms its own unit only. */
export async function acceptUnits(db: Queryable, units: AcceptUnit[]): Promise<(UnitOutcome | Error)[]> {
  return together(units, async some => {
    try {
      return await acceptTogether(db, some)
    } catch (error) {
      if (!isMissingPartition(error)) throw error
      await ensurePartitions(db)
      return acceptTogether(db, some)
    }
  })
}

async function acceptTogether(db: Queryable, units: AcceptUnit[]): Promise<(UnitOutcome | Error)[]> {
  const firstUse = withoutRepeatedKeys(units)
  const parameters = parametersOf(firstUse)
  const rows = firstUse.every(isPlain)
    ? await run<AcceptRow>(db, 'accept-plain', PLAIN, parameters.slice(0, 2))
    : await run<AcceptRow>(db, 'accept-full', FULL, parameters)
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
    drafts.every(
      draft =>
        draft.person === null && draft.attachments.length === 0 && draft.delayMs === null && draft.scheduledAt === null,
    )
  )
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
