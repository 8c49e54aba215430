import { createHmac } from 'node:crypto'
import { formatAddress, type MailAddress } from '../contracts/addresses.ts'
import { guessContentType } from '../contracts/attachment-types.ts'
import { canonicalJson } from '../contracts/canonical-json.ts'
import { normaliseDocument } from '../contracts/documents.ts'
import { encrypt, type KeyRing } from '../contracts/encryption.ts'
import { hashDocument, hashEmail } from '../contracts/hashing.ts'
import type { HtmlProblem } from '../contracts/html/rules.ts'
import { type BatchError, batchError, type FieldProblem, type Refusal, summarise } from '../contracts/refusal.ts'
import { maxAttempts, type RetryPolicyName } from '../contracts/retry.ts'
import { checkSchedule, type SendBody } from '../contracts/send-body.ts'
import { decideSender } from '../contracts/sender.ts'
import type { AcceptUnit, Draft, DraftAddress, DraftPerson, UnitAnswer, UnitOutcome } from '../db/outbox/accept.ts'
import type { HtmlChecker } from '../sending/html-check.ts'

export type Caller = {
  keyId: string
  companyId: string
  test: boolean
  fromDomains: readonly string[]
  linkSchemes: readonly string[]
  retryPolicy: RetryPolicyName | null
}

export type AcceptRequest = {
  caller: Caller
  requestId: string
  members: readonly { index: number; body: SendBody }[]
  /** All or none, or each on its own. */
  strict: boolean
  /** With the body as the caller wrote it, which is what the key stands for. */
  idempotency: { key: string; writtenBody: unknown } | null
  /** Members of a permissive batch that did not get this far. */
  refusedBefore: BatchError[]
}

export type AcceptOutcome =
  | { kind: 'answered'; replayed: boolean; answer: UnitAnswer }
  | { kind: 'refused'; refusals: Map<number, Refusal> }
  | { kind: 'key-used-for-another-body' }
  | { kind: 'key-still-running' }
  /** Nothing was looked at: the same request may be repeated soon. */
  | { kind: 'busy' }

export type AcceptDeps = {
  units: { add(unit: AcceptUnit): Promise<UnitOutcome> }
  html: HtmlChecker
  keys: KeyRing
  pepper: string
  defaultFrom: MailAddress
  defaultRetryPolicy: RetryPolicyName
  /** No provider that leaves the machine is configured. */
  captureOnly: boolean
  /** By the clock of the database. */
  now: () => Date
  newId: () => string
  onAccepted: () => void
  /** E-mails that the database was asked to accept, and those of them that the suppression list stopped. */
  onCounted: (companyId: string, requests: number, suppressed: number) => void
}

/** Step 1 of the line: after this answers, the e-mail is kept, whatever dies. */
export async function acceptEmails(request: AcceptRequest, deps: AcceptDeps): Promise<AcceptOutcome> {
  if (isFull(request, deps)) return { kind: 'busy' }
  const { drafts, refusals } = await draftAll(request, deps)
  if (drafts.length === 0 || (request.strict && refusals.size > 0)) return { kind: 'refused', refusals }
  const outcome = await deps.units.add(toUnit(request, drafts, refusals, deps))
  if (outcome.kind !== 'answered') return outcome
  deps.onAccepted()
  if (!outcome.replayed) countVerdicts(request.caller.companyId, outcome.answer, deps)
  return outcome
}

function countVerdicts(companyId: string, { verdicts }: UnitAnswer, deps: AcceptDeps): void {
  const suppressed = verdicts.reduce((sum, { verdict }) => sum + (verdict === 'SUPPRESSED' ? 1 : 0), 0)
  deps.onCounted(companyId, verdicts.length, suppressed)
}

/** Its large HTML would wait behind too much of its own. */
function isFull({ members, caller }: AcceptRequest, { html }: AcceptDeps): boolean {
  return (
    html.isFull(caller.companyId) && members.some(({ body }) => body.html !== undefined && html.takesTime(body.html))
  )
}

async function draftAll(request: AcceptRequest, deps: AcceptDeps) {
  const drafts: Draft[] = []
  const refusals = new Map<number, Refusal>()
  const allowances = { linkSchemes: request.caller.linkSchemes }
  for (const { index, body } of request.members) {
    const found = body.html === undefined ? [] : deps.html.check(body.html, request.caller.companyId, allowances)
    const problems = found instanceof Promise ? await found : found
    const refusal = refuse(body, problems, request.caller, deps)
    if (refusal) refusals.set(index, refusal)
    else drafts.push(draftEmail(index, body, request, deps))
  }
  return { drafts, refusals }
}

/** The rules that need more than the body: time, company, and an HTML parser. */
function refuse(body: SendBody, html: HtmlProblem[], caller: Caller, deps: AcceptDeps): Refusal | null {
  const problems: FieldProblem[] = html.map(({ code, message }) => ({
    path: 'html',
    code: 'INVALID_TEMPLATE',
    message: `${message} (${code})`,
  }))
  const late = checkSchedule(body.scheduledAt, deps.now())
  if (late) problems.push({ path: 'scheduledAt', code: 'INVALID_PAYLOAD', message: late })
  if (problems.length > 0) return summarise(problems)
  if (!senderOf(body, caller, deps)) {
    const message = 'is not one of the sender domains of this company'
    return { code: 'FROM_NOT_ALLOWED', errors: [{ path: 'from', code: 'FROM_NOT_ALLOWED', message }] }
  }
  return null
}

function senderOf(body: SendBody, caller: Caller, deps: AcceptDeps): MailAddress | null {
  const nothingLeaves = deps.captureOnly || caller.test
  return decideSender(body.from, { fromDomains: caller.fromDomains, defaultFrom: deps.defaultFrom, nothingLeaves })
}

function draftEmail(index: number, body: SendBody, { caller, requestId }: AcceptRequest, deps: AcceptDeps): Draft {
  const chosen = body.retryPolicy ?? caller.retryPolicy
  return {
    index,
    outboxId: deps.newId(),
    eventId: deps.newId(),
    companyId: caller.companyId,
    requestId,
    externalId: body.externalId ?? null,
    test: caller.test,
    from: formatAddress(senderOf(body, caller, deps)!),
    subject: body.subject,
    template: null,
    tags: body.tags ?? [],
    priority: body.priority,
    retryPolicy: chosen,
    onUnknown: body.onUnknown,
    maxAttempts: maxAttempts(chosen ?? deps.defaultRetryPolicy),
    delayMs: body.delay || null,
    scheduledAt: body.scheduledAt ?? null,
    html: body.html ?? null,
    htmlProof: body.html === undefined ? null : deps.html.prove(body.html),
    text: body.text ?? null,
    replyTo: body.replyTo === undefined ? null : [body.replyTo].flat().map(formatAddress),
    headers: body.headers ?? null,
    variables: null,
    addresses: addressesOf(body),
    person: body.recipient ? personOf(body, caller, deps) : null,
    attachments: (body.attachments ?? []).map(file => ({
      filename: file.filename,
      contentType: file.contentType ?? guessContentType(file.filename),
      contentId: file.contentId ?? null,
      base64: file.content,
    })),
  }
}

/** Someone named twice gets one copy; `to` wins over cc, cc over bcc. */
function addressesOf(body: SendBody): DraftAddress[] {
  const addresses = [draftAddress('to', body.to)]
  if (!body.cc && !body.bcc) return addresses
  const seen = new Set([body.to.normalised])
  for (const kind of ['cc', 'bcc'] as const) {
    for (const address of body[kind] ?? []) {
      if (seen.has(address.normalised)) continue
      seen.add(address.normalised)
      addresses.push(draftAddress(kind, address))
    }
  }
  return addresses
}

function draftAddress(kind: DraftAddress['kind'], { address, displayName, normalised }: MailAddress): DraftAddress {
  const hash = hashEmail(normalised)
  return { kind, address, name: displayName, hash, key: addressKey(hash) }
}

/** The first eight bytes of the hash as a Postgres bigint. */
export function addressKey(hash: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash.slice(7, 23)}`)).toString()
}

function personOf(body: SendBody, { companyId, test }: Caller, deps: AcceptDeps): DraftPerson {
  const { recipientId, externalId, cpfCnpj, cpfCnpjHash, razaoSocial, nome } = body.recipient!
  const documentHash = cpfCnpj ? hashDocument(cpfCnpj, deps.pepper) : (cpfCnpjHash ?? null)
  const email = body.to.normalised
  const identity = externalId
    ? `external:${externalId}`
    : documentHash
      ? `document:${documentHash}`
      : `address:${hashEmail(email)}`
  return {
    recipientId: recipientId ?? deps.newId(),
    mustExist: recipientId !== undefined,
    identity: `${test ? 'test:' : ''}${identity}`,
    externalId: externalId ?? null,
    cpfCnpjHash: documentHash,
    cpfCnpjCipher: cpfCnpj
      ? encrypt(normaliseDocument(cpfCnpj), deps.keys, { companyId, column: 'recipients.cpf_cnpj' }).toString('base64')
      : null,
    razaoSocial: razaoSocial ?? null,
    nome: nome ?? null,
    email,
  }
}

function toUnit(request: AcceptRequest, drafts: Draft[], refusals: Map<number, Refusal>, deps: AcceptDeps): AcceptUnit {
  const { idempotency, strict } = request
  const refusedBefore = [
    ...request.refusedBefore,
    ...[...refusals].map(([index, refusal]) => batchError(index, refusal)),
  ]
  if (!idempotency) return { drafts, strict, idempotency: null, refusedBefore }
  const fingerprint = createHmac('sha256', deps.pepper).update(canonicalJson(idempotency.writtenBody)).digest('hex')
  return {
    drafts,
    strict,
    idempotency: { key: storedKey(idempotency.key, request.caller, deps), fingerprint },
    refusedBefore,
  }
}

/**
 * A key stands for a request of its company in its mode: a test e-mail must not answer for a live one. Hashed with the pepper,
 * since callers make keys of order numbers and addresses.
 */
function storedKey(key: string, { companyId, test }: Caller, { pepper }: AcceptDeps): string {
  const scope = `idempotency ${test ? 'test' : 'live'} ${companyId}`
  return createHmac('sha256', pepper).update(`${scope} ${key}`).digest('base64url')
}
