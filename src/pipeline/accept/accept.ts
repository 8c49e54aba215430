import { createHmac } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Draft, MemberResult, RequestAnswer, RequestToStore, StoreOutcome } from '../../outbox/draft.ts'
import { checkSchedule, type SendBody } from '../../outbox/send-body.ts'
import type { HtmlChecker } from '../../platform/html/check.ts'
import type { HtmlProblem } from '../../platform/html/rules.ts'
import type { EmailLog, LoggedEmail } from '../../platform/telemetry/email-log.ts'
import type { Tracing } from '../../platform/telemetry/tracing.ts'
import { canonicalJson } from '../../platform/text/hashing.ts'
import { batchError, type FieldProblem, type Refusal, summarise } from '../../platform/text/refusal.ts'
import type { SenderSettings } from '../../settings/sender.ts'
import type { ParseResult } from '../../templates/parse.ts'
import type { TemplateChoice } from '../../templates/published.ts'
import { renderTemplate } from '../../templates/render.ts'
import type { Caller } from './caller.ts'
import { type DraftDeps, type DraftMember, draftEmail, senderOf } from './draft.ts'

/** A batch that has worked for this long lets other requests have the event loop. */
const MAX_BLOCK_MS = 5

export type AcceptRequest = {
  caller: Caller
  requestId: string
  members: readonly DraftMember[]
  /** true: all members are accepted, or none. false: each on its own. */
  strict: boolean
  idempotency: IdempotencyKey | null
  /** Members of a batch that the HTTP layer refused because their bodies do not match the schema. */
  refusedBefore: Map<number, Refusal>
  /** The span of the request, if its trace is sampled. */
  traceparent?: string | null
}

export type AcceptResult =
  /** Each member was accepted, or its recipient is suppressed. */
  | { kind: 'answered'; replayed: boolean; answer: RequestAnswer }
  | { kind: 'refused'; refusals: Map<number, Refusal> }
  | { kind: 'key-used-for-another-body' }
  | { kind: 'key-still-running' }
  /** Nothing was checked or written: the same request may be repeated soon. */
  | { kind: 'busy' }

export type AcceptDeps = {
  html: HtmlChecker
  findTemplate: FindTemplate
  /** Writes outbox rows and QUEUED events of one request in one commit. */
  write: (request: RequestToStore) => Promise<StoreOutcome>
  onAccepted: () => void
  secrets: DraftDeps['secrets']
  /** `idempotencyDays`: how long an idempotency key stands for its request. */
  settings: DraftDeps['settings'] & { idempotencyDays: number }
  /** Times and ids follow the clock of the database. */
  clock: { now: () => Date; newId: () => string }
  observe: AcceptObserver
}

export type AcceptObserver = {
  /** E-mails that the database was asked to accept, and those of them that the suppression list stopped. */
  countRequests: (companyId: string, requests: number, suppressed: number) => void
  log: EmailLog
  tracing: Tracing
}

/** Step 1: check, suppress, write outbox row and QUEUED event. What it answers as accepted is committed. */
export async function acceptEmails(request: AcceptRequest, deps: AcceptDeps): Promise<AcceptResult> {
  const accept = (traceparent: string | null) => checkAndWrite({ ...request, traceparent }, deps)
  return deps.observe.tracing.traced('accept', request.traceparent, accept, result => ({
    companyId: request.caller.companyId,
    emails: request.members.length,
    outcome: result.kind,
  }))
}

type TracedRequest = AcceptRequest & { traceparent: string | null }

async function checkAndWrite(request: TracedRequest, deps: AcceptDeps): Promise<AcceptResult> {
  if (isBusy(request, deps)) return { kind: 'busy' }
  const { drafts, refusals: refusedNow } = await draftAll(request, deps)
  // In the order of the request, so that one answer names every fault of every member.
  const refusals = new Map([...request.refusedBefore, ...refusedNow].sort(([a], [b]) => a - b))
  if (drafts.length === 0 || (request.strict && refusals.size > 0)) return { kind: 'refused', refusals }
  const outcome = await deps.write(toStore(request, drafts, refusals, deps))
  if (outcome.kind !== 'answered') return outcome
  // After a replay, too: whoever accepted it may have died before this.
  deps.onAccepted()
  if (outcome.replayed) return outcome
  count(request.caller.companyId, outcome.answer, deps)
  logAccepted(drafts, outcome.answer.results, request.strict, deps.observe.log)
  return outcome
}

/** Too much large HTML of this company is waiting to be checked. */
function isBusy({ members, caller }: AcceptRequest, { html }: AcceptDeps): boolean {
  return (
    html.isFull(caller.companyId) &&
    members.some(({ body }) => body.template !== undefined || (body.html !== undefined && html.takesTime(body.html)))
  )
}

async function draftAll(request: TracedRequest, deps: AcceptDeps) {
  const { members, caller } = request
  const drafts: Draft[] = []
  const refusals = new Map<number, Refusal>()
  const bodies = members.map(({ body }) => body)
  const templates = await findTemplates(bodies, caller, deps.findTemplate)
  let startedMs = performance.now()
  for (const member of members) {
    if (performance.now() - startedMs > MAX_BLOCK_MS) {
      await nextTurn()
      startedMs = performance.now()
    }
    const refusal = await draftOne(member)
    if (refusal) refusals.set(member.index, refusal)
  }
  return { drafts, refusals }

  async function draftOne(member: DraftMember): Promise<Refusal | null> {
    const content = renderBody(member.body, templates)
    if (!content.ok) return content.refusal
    const { body } = content
    const problems = body.html === undefined ? [] : await deps.html.check(body.html, caller.companyId)
    const refusal = refuseBody(body, problems, caller, deps.settings.sender, deps.clock.now())
    if (!refusal) drafts.push(draftEmail({ ...member, body }, request, deps))
    return refusal
  }
}

function toStore(
  request: AcceptRequest,
  drafts: Draft[],
  refusals: Map<number, Refusal>,
  deps: AcceptDeps,
): RequestToStore {
  const { strict, caller } = request
  return {
    drafts,
    strict,
    idempotency: storedIdempotency(request.idempotency, caller, {
      pepper: deps.secrets.pepper,
      days: deps.settings.idempotencyDays,
    }),
    refusedBefore: [...refusals].map(([index, refusal]) => batchError(index, refusal)),
  }
}

function count(companyId: string, { results }: RequestAnswer, deps: AcceptDeps): void {
  const suppressed = results.filter(({ status }) => status === 'SUPPRESSED').length
  deps.observe.countRequests(companyId, results.length, suppressed)
}

/** The rules that need more than the body: the time, the company, and an HTML parser. null: it may be accepted. */
function refuseBody(
  body: BodyWithContent,
  html: HtmlProblem[],
  caller: Caller,
  sender: SenderSettings,
  now: Date,
): Refusal | null {
  const problems: FieldProblem[] = html.map(({ code, message }) => ({
    path: body.template === undefined ? 'html' : 'template',
    code: 'INVALID_TEMPLATE',
    message: `${message} (${code})`,
    rule: code,
  }))
  const late = checkSchedule(body.scheduledAt, now)
  if (late) problems.push({ path: 'scheduledAt', ...late })
  const from = refuseSender(body.from, caller, sender)
  if (problems.length > 0) return summarise([...problems, ...from])
  return from.length > 0 ? { code: 'FROM_NOT_ALLOWED', errors: from } : null
}

function refuseSender(from: BodyWithContent['from'], caller: Caller, sender: SenderSettings): FieldProblem[] {
  if (senderOf(from, caller, sender)) return []
  const message = from ? domainNotAllowed(caller.fromDomains) : NO_SENDER
  return [{ path: 'from', code: 'FROM_NOT_ALLOWED', message }]
}

const NO_SENDER =
  'is missing, the company has no default sender, and EMAIL_FROM is not one of its sender domains; an administrator sets one with: email-gateway company update NAME --from ADDRESS'

/** An answer stays short, and SMTP allows 512 characters. */
const MAX_NAMED = 5

function domainNotAllowed(domains: readonly string[]): string {
  const more = domains.length > MAX_NAMED ? ` and ${domains.length - MAX_NAMED} more` : ''
  const which = domains.length === 0 ? 'it has none' : `${domains.slice(0, MAX_NAMED).join(', ')}${more}`
  return `is not one of the sender domains of this company (${which}); an administrator sets them with: email-gateway company update NAME --from-domains A.COM,B.COM`
}

/** A body whose template, if it names one, has been rendered. */
export type BodyWithContent = SendBody & { subject: string; templateVersion?: number }

/** The version in use; null: none is published. */
type FindTemplate = (choice: TemplateChoice) => Promise<{ version: number; parsed: ParseResult } | null>

/** The templates that the bodies of a request name, each looked up once. */
type FoundTemplates = Map<string, Awaited<ReturnType<FindTemplate>>>

async function findTemplates(bodies: SendBody[], { companyId }: Caller, find: FindTemplate): Promise<FoundTemplates> {
  const named = new Map(bodies.filter(body => body.template !== undefined).map(body => [keyOf(body), body]))
  const found = [...named].map(async ([key, { template, locale = null }]) => {
    return [key, await find({ companyId, type: template!, locale })] as const
  })
  return new Map(await Promise.all(found))
}

const keyOf = ({ template, locale }: SendBody) => `${template} ${locale}`

type ContentResult = { ok: true; body: BodyWithContent } | { ok: false; refusal: Refusal }

/** The caller learns at once what is wrong with a template or its variables. A subject in the body wins over the template's. */
export function renderBody(body: SendBody, templates: FoundTemplates): ContentResult {
  // The schema has seen to it that there is a subject without a template.
  if (body.template === undefined) return { ok: true, body: body as BodyWithContent }
  const found = templates.get(keyOf(body))
  if (!found) return { ok: false, refusal: templateNotFound(body.template) }
  const { version, parsed } = found
  const result = parsed.ok ? renderTemplate(parsed.template, body.variables ?? {}) : parsed
  if (!result.ok) return { ok: false, refusal: summarise(result.problems) }
  const { subject, html, text } = result
  return {
    ok: true,
    body: {
      ...body,
      subject: body.subject ?? subject,
      templateVersion: version,
      ...(html !== null && { html }),
      ...(text !== null && { text }),
    },
  }
}

function templateNotFound(type: string): Refusal {
  const message = `there is no published template ${type} (a draft has to be published first); GET /v1/templates lists them`
  return { code: 'TEMPLATE_NOT_FOUND', errors: [{ path: 'template', code: 'TEMPLATE_NOT_FOUND', message }] }
}

/** A caller's key, with the body as the caller wrote it, which is what the key stands for. */
type IdempotencyKey = { key: string; writtenBody: unknown }

function storedIdempotency(
  given: IdempotencyKey | null,
  caller: Caller,
  { pepper, days }: { pepper: string; days: number },
): RequestToStore['idempotency'] {
  if (!given) return null
  const fingerprint = createHmac('sha256', pepper).update(canonicalJson(given.writtenBody)).digest('hex')
  return { key: storedKey(given.key, caller, pepper), fingerprint, days }
}

/**
 * A key stands for a request of its company in its mode: a test e-mail must not answer for a live one. Hashed with the pepper,
 * since callers make keys of order numbers and addresses.
 */
function storedKey(key: string, { companyId, test }: Caller, pepper: string): string {
  const scope = `idempotency ${test ? 'test' : 'live'} ${companyId}`
  return createHmac('sha256', pepper).update(`${scope} ${key}`).digest('base64url')
}

/** One line for each e-mail that was accepted, or stopped by the suppression list. `results` has the order of the drafts. */
function logAccepted(drafts: Draft[], results: MemberResult[], strict: boolean, log: EmailLog): void {
  // A strict request is accepted as a whole, or not at all.
  const noneAccepted = strict && results.some(({ status }) => status !== 'ACCEPTED')
  drafts.forEach((draft, place) => {
    const { status } = results[place]!
    if (status === 'SUPPRESSED')
      log('refused', loggedDraft(draft), { state: 'REJECTED', errorCode: 'RECIPIENT_SUPPRESSED' })
    if (status === 'ACCEPTED' && !noneAccepted)
      log('accepted', loggedDraft(draft), { state: 'QUEUED', maxAttempts: draft.maxAttempts })
  })
}

function loggedDraft(draft: Draft): LoggedEmail {
  const { outboxId, companyId, requestId, externalId, addresses, recipientRecord, traceparent } = draft
  return { outboxId, companyId, requestId, externalId, recipients: addresses, recipientRecord, traceparent }
}
