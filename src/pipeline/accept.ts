import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Caller } from '../accepting/caller.ts'
import { type FindTemplate, findTemplates, renderBody } from '../accepting/content.ts'
import { type DraftDeps, type DraftMember, draftEmail } from '../accepting/draft.ts'
import { type IdempotencyKey, storedIdempotency } from '../accepting/idempotency.ts'
import { logAccepted } from '../accepting/log.ts'
import { refuseBody } from '../accepting/refuse.ts'
import { batchError, type Refusal } from '../contracts/refusal.ts'
import type { Draft, RequestAnswer, RequestToStore, StoreOutcome } from '../db/outbox/draft.ts'
import type { HtmlChecker } from '../sending/html-check.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { Tracing } from '../telemetry/tracing.ts'

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
