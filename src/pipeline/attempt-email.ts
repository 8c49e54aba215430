import { hashEmail } from '../contracts/hashing.ts'
import type { RetryPolicyName } from '../contracts/retry.ts'
import type { AttemptStart } from '../db/attempts.ts'
import type { Settlement } from '../db/settle.ts'
import type { Attachment, Ticket, TicketRecipient } from '../db/tickets.ts'
import type { Budget } from '../lanes/budget.ts'
import type { Gate } from '../lanes/gate.ts'
import type { InHand } from '../lanes/lane.ts'
import type { OutgoingMessage, Provider, SendResult } from '../providers/provider.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { HtmlChecker } from './html-check.ts'
import type { ReportsOfSend } from './keep-reports.ts'
import { attemptOf, type Outcome, outcomeOf, toSettlement } from './outcome.ts'
import { toMessage } from './outgoing-message.ts'
import { type Invalid, type LinkSchemesOf, validateEmail } from './validate-email.ts'

/** After a wait as long as this for its turn, it is looked again whether a recipient was suppressed meanwhile. */
const LOOK_AGAIN_MS = 1_000

export type AttemptDeps = {
  starts: { add(start: AttemptStart): Promise<boolean> }
  settlements: { add(settlement: Settlement): Promise<boolean> }
  handBacks: { add(outboxId: string): Promise<unknown> }
  /** null: every provider that could take it is parked. */
  route: (ticket: Ticket) => Provider | null | Promise<Provider | null>
  /** What an answer says about the provider; callMs: how long ago the call began. */
  report: (provider: Provider, result: SendResult, callMs: number) => void
  /** Bounds those that have started and have no answer yet; closed when the process is to stop. */
  gate: Gate
  /** Bounds the calls. */
  hands: Pick<Gate, 'tryEnter' | 'enter' | 'leave'>
  /**
   * Resolves when the provider's rate has room for so many recipients (or messages, as it counts), which is waited for with `sleep`; false: not in the time
   * that is worth waiting. null: it has room.
   */
  pace: (provider: Provider, recipients: number, sleep: (ms: number) => Promise<void>) => Promise<boolean> | null
  /** Whether somebody it would go to was put on the suppression list since it was read. */
  suppressedMeanwhile: (ticket: Ticket) => Promise<boolean>
  attachments: (outboxId: string) => Promise<Attachment[]>
  /** Bounds the bytes of attachments that are in memory at once. */
  luggage: Pick<Budget, 'spend'>
  html: HtmlChecker
  linkSchemesOf: LinkSchemesOf
  /** Stores what the provider said about single recipients; answers how to have it looked at. */
  keepReports: (sent: ReportsOfSend) => Promise<() => void>
  graceSeconds: number
  /** Where neither the company nor the request chose one. */
  retryPolicy: RetryPolicyName
  /** Ends a call that begins now when it takes too long. */
  limit: () => AbortSignal
  random: () => number
  nowMs: () => number
  log: AttemptLog
}

/** An e-mail in hand; content is null when it has ended, or is in another's hands, by now. */
export type EmailInHand = InHand<Ticket | null>

type Prepared = { ticket: Ticket; provider: Provider; message: OutgoingMessage; leftOut: TicketRecipient[] }

/**
 * Step 3 of the line: validate → SENT_ATTEMPT → provider → settle. RECEIVED is written with SENT_ATTEMPT, or with the refusal.
 * What can be said at once is said without a promise: for nearly every e-mail only three things are waited for.
 */
export function attemptEmail(hand: EmailInHand, deps: AttemptDeps): Promise<void> {
  const startedMs = deps.nowMs()
  const ticket = hand.content
  if (!ticket) return Promise.resolve(deps.log.elsewhere(hand))
  const goOn = (unfit: Outcome | null) => {
    if (unfit) return refuse(hand, ticket, unfit, startedMs, deps)
    if (ticket.files === 0) return send(hand, ticket, startedMs, deps)
    return deps.luggage.spend(ticket.fileBytes, () => send(hand, ticket, startedMs, deps))
  }
  const finding = findUnfit(ticket, hand.companyId, deps)
  return finding instanceof Promise ? finding.then(goOn) : goOn(finding)
}

/**
 * Some start before a hand is free to call, so that many share a commit. Lost in between, an e-mail is in doubt for nothing: where
 * doubt means that it is held, the hand comes first. All in one function: one for each step that is waited for cost a tenth of an attempt more.
 */
async function send(hand: EmailInHand, ticket: Ticket, startedMs: number, deps: AttemptDeps): Promise<void> {
  const { gate, hands } = deps
  if (gate.closed) return handBack(hand, deps)
  const preparing = prepare(ticket, deps)
  const prepared = preparing instanceof Promise ? await preparing : preparing
  if (!prepared && ticket.resumed)
    return refuse(hand, ticket, { kind: 'unasked', provider: ticket.resumed.provider }, startedMs, deps)
  if (!prepared || !(gate.tryEnter() || (await gate.enter()))) return handBack(hand, deps)

  const { provider, message } = prepared
  let result: SendResult | null = null
  let calls = false
  try {
    if (ticket.onUnknown === 'hold') calls = hands.tryEnter() || (await hands.enter())
    if (isOurs(await start(hand, prepared, deps), hand, deps)) {
      calls ||= hands.tryEnter() || (await hands.enter())
      const calledMs = deps.nowMs()
      result = await provider.send(message, deps.limit())
      deps.report(provider, result, deps.nowMs() - calledMs)
    }
  } finally {
    if (calls) hands.leave()
    gate.leave()
    hand.release()
  }
  if (!result) return

  // Before it is settled: a worker that is lost in between must not take with it what only it has heard.
  const look =
    result.kind === 'sent' && result.events.length > 0
      ? await deps.keepReports({ provider: provider.name, message, messageId: result.messageId, events: result.events })
      : null
  const { outcome, facts, settlement } = endOf(hand, prepared, result, startedMs, deps)
  if (await deps.settlements.add(settlement)) deps.log.settled(ticket, provider.name, outcome, facts)
  else await answerLate(hand, settlement, message.attemptId, deps)
  look?.()
}

/** What ends the e-mail without a call. */
function findUnfit(ticket: Ticket, companyId: string, deps: AttemptDeps): Outcome | null | Promise<Outcome | null> {
  // It may have left already: the provider must be asked, whatever the clock and the rules say by now.
  if (ticket.resumed) return null
  if (ticket.expired) return { kind: 'expired' }
  if (ticket.attempts >= ticket.maxAttempts) return { kind: 'dead', status: 'DLQ', failure: CRASHES }
  if (ticket.recipients.some(one => one.suppressed)) {
    const to = ticket.recipients.filter(one => one.kind === 'to')
    if (to.length > 0 && to.every(one => one.suppressed))
      return { kind: 'suppressed', hashes: to.map(one => hashEmail(one.address)) }
  }
  const invalid = validateEmail(ticket, companyId, deps.html, deps.linkSchemesOf)
  return invalid instanceof Promise ? invalid.then(failed) : failed(invalid)
}

const failed = (invalid: Invalid | null): Outcome | null => invalid && { kind: 'dead', status: 'FAILED', ...invalid }

const CRASHES = {
  code: 'ATTEMPTS_EXHAUSTED',
  category: 'PERMANENT_ERROR',
  message: 'Every attempt ended with the worker: it was stopped or crashed while working on this e-mail',
}

async function refuse(hand: EmailInHand, ticket: Ticket, outcome: Outcome, startedMs: number, deps: AttemptDeps) {
  const facts = {
    outboxId: hand.outboxId,
    guard: { leaseId: hand.leaseId, waiting: true as const },
    requestId: ticket.requestId,
    // No attempt is made of what expires.
    attempt: outcome.kind === 'expired' ? ticket.attempts : Math.min(ticket.attempts + 1, ticket.maxAttempts),
    before: ticket.attempts,
    maxAttempts: ticket.maxAttempts,
    durationMs: Math.round(deps.nowMs() - startedMs),
  }
  if (await deps.settlements.add(toSettlement(outcome, facts))) deps.log.settled(ticket, null, outcome, facts)
  else deps.log.elsewhere(hand)
}

/** Everything that can take time or break comes before SENT_ATTEMPT: a worker lost here has sent nothing. */
function prepare(ticket: Ticket, deps: AttemptDeps): Prepared | null | Promise<Prepared | null> {
  const provider = deps.route(ticket)
  const makesText = ticket.text === null && deps.html.takesTime(ticket.html!)
  if (provider instanceof Promise || makesText || ticket.files > 0)
    return prepareInTime(ticket, provider, makesText, deps)
  return provider && preparedWith(ticket, provider, ticket.text, [])
}

async function prepareInTime(
  ticket: Ticket,
  routed: ReturnType<AttemptDeps['route']>,
  makesText: boolean,
  deps: AttemptDeps,
): Promise<Prepared | null> {
  const provider = await routed
  if (!provider) return null
  const text = makesText ? await deps.html.textOf(ticket.html!, ticket.companyId) : ticket.text
  const attachments = ticket.files > 0 ? await deps.attachments(ticket.outboxId) : []
  return preparedWith(ticket, provider, text, attachments)
}

function preparedWith(ticket: Ticket, provider: Provider, text: string | null, attachments: Attachment[]): Prepared {
  // The provider recognises an attempt by its body, too: asked about again, it is the same one.
  const leftOut = ticket.resumed ? [] : ticket.recipients.filter(one => one.suppressed)
  return { ticket, provider, message: toMessage(ticket, leftOut, text, attachments), leftOut }
}

function isOurs(started: boolean | null, hand: EmailInHand, deps: AttemptDeps): boolean {
  if (started === false) deps.log.elsewhere(hand)
  return started === true
}

/** SENT_ATTEMPT, when the provider's rate has room. false: somebody else's by now. null: handed back. */
function start(hand: EmailInHand, prepared: Prepared, deps: AttemptDeps): Promise<boolean | null> {
  const { message, provider } = prepared
  const places = provider.limitsMessages ? 1 : message.to.length + message.cc.length + message.bcc.length
  const sinceMs = deps.nowMs()
  const turn = deps.gate.closed ? null : deps.pace(provider, places, deps.gate.sleep)
  return turn || deps.gate.closed ? startInTurn(hand, prepared, turn, sinceMs, deps) : startNow(hand, prepared, deps)
}

function startNow(hand: EmailInHand, { ticket, provider, message }: Prepared, deps: AttemptDeps): Promise<boolean> {
  return deps.starts.add({
    outboxId: hand.outboxId,
    leaseId: hand.leaseId,
    attemptId: message.attemptId,
    provider: provider.name,
    attempt: attemptOf(ticket),
    before: ticket.attempts,
  })
}

/** At a low rate the turn may be minutes away: who is told to stop does not wait for it, and a recipient may be suppressed by then. */
async function startInTurn(
  hand: EmailInHand,
  prepared: Prepared,
  turn: Promise<boolean> | null,
  sinceMs: number,
  deps: AttemptDeps,
): Promise<boolean | null> {
  const { ticket } = prepared
  const hasPlace = (await turn) ?? true
  const waitedLong = deps.nowMs() - sinceMs > LOOK_AGAIN_MS
  const isWanted =
    hasPlace && !deps.gate.closed && (!waitedLong || ticket.resumed || !(await deps.suppressedMeanwhile(ticket)))
  if (isWanted) return startNow(hand, prepared, deps)
  await handBack(hand, deps)
  return null
}

function endOf(
  hand: EmailInHand,
  { ticket, provider, message, leftOut }: Prepared,
  result: SendResult,
  startedMs: number,
  deps: AttemptDeps,
) {
  const outcome = outcomeOf(result, ticket, provider, deps)
  // As one literal: spread into one another, the parts cost a quarter of an attempt.
  const facts = {
    outboxId: hand.outboxId,
    guard: { leaseId: hand.leaseId },
    requestId: ticket.requestId,
    attempt: attemptOf(ticket),
    before: ticket.attempts,
    maxAttempts: ticket.maxAttempts,
    durationMs: Math.round(deps.nowMs() - startedMs),
    resumed: ticket.resumed !== null,
    attemptId: message.attemptId,
    provider: provider.name,
    leftOut: leftOut.map(one => ({ ordinal: one.ordinal, hash: hashEmail(one.address) })),
  }
  return { outcome, facts, settlement: toSettlement(outcome, facts) }
}

/**
 * The lease was lost while the provider was busy. Where the outcome counts as unknown by now, this answer is the evidence.
 * Otherwise the provider's own event came first, or the e-mail went on without us, and it stays so.
 */
async function answerLate(
  hand: EmailInHand,
  settlement: Settlement,
  attemptId: string,
  deps: AttemptDeps,
): Promise<void> {
  // No answer either: the doubt stays what it is.
  if (settlement.status === 'UNKNOWN') return deps.log.leaseLost(hand)
  const late = await deps.settlements.add({
    ...settlement,
    guard: { unknownAttemptId: attemptId },
    events: [{ type: 'RESOLVED', metadata: { by: 'late-answer', attemptId } }, ...settlement.events],
    count: ['unknown_resolved', 'late-answer'],
  })
  if (late) return deps.log.late(hand, settlement.status)
  deps.log.leaseLost(hand)
}

async function handBack(hand: EmailInHand, deps: AttemptDeps): Promise<void> {
  await deps.handBacks.add(hand.outboxId)
}
