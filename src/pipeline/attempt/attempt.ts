import type { Attachment, EmailToSend, RecipientToSend } from '../../outbox/load.ts'
import type { AttemptStart } from '../../outbox/start.ts'
import { inSlot, type Slots, type WeightedSemaphore } from '../../platform/semaphores.ts'
import { sleepUnlessAborted } from '../../platform/sleep.ts'
import { hashEmail } from '../../platform/text/hashing.ts'
import { uuidv7 } from '../../platform/text/uuid.ts'
import type { OutgoingMessage, Provider, ProviderEvent, SendResult } from '../../providers/provider.ts'
import { mayBeInline } from '../accept/attachment-types.ts'
import type { ClaimedEmail } from '../lanes/lane.ts'
import type { AttemptObserver } from './observe.ts'
import { attemptNumber, decideOutcome, type Outcome, type OutcomeSettings } from './outcome.ts'
import type { Invalid } from './validate.ts'

/** What an attempt ended with. `call` is null when no provider was called. */
export type Attempt = { outcome: Outcome; call: ProviderCall | null; durationMs: number }

export type ProviderCall = {
  provider: string
  attemptId: string
  /** Recipients that got no copy, because they have been suppressed since the e-mail was accepted. */
  suppressed: RecipientToSend[]
  /** What the provider reported about single recipients with its answer. */
  events: ProviderEvent[]
}

export type AttemptDeps = {
  providers: {
    /** null: every provider that could take it is parked or no longer configured, or this process may not send now. */
    route: (email: EmailToSend) => Promise<Provider | null>
    /** The e-mail that `route` sent there does not call it after all, or has no answer to report: a probe is free for another one. */
    notCalled: (provider: Provider) => void
    /** What an answer says about the provider, for its breaker and its rate. `amount`: as for `waitForRate`. */
    report: (provider: Provider, result: SendResult, call: { callMs: number; amount: number }) => void
    /** Waits, with `sleep`, until the rate limit has room for so many recipients or messages. false: it has none for too long. */
    waitForRate: (provider: Provider, amount: number, sleep: (ms: number) => Promise<void>) => Promise<boolean>
  }
  slots: {
    /** Bounds the attempts that are about to start or have no answer yet. Closed when the process stops, and then refuses. */
    starts: Slots
    /** Bounds the calls to providers. Never closed: what has started is called. */
    calls: Slots
  }
  /** Aborted when the process stops: what has not started returns to ready. */
  stopping: AbortSignal
  content: {
    /** Renders its template, if it came without content, and validates it. null: somebody else is changing the e-mail. */
    prepare: (email: EmailToSend, companyId: string) => Promise<EmailToSend | Invalid | null>
    /** The text part: the e-mail's own, or made from its HTML. */
    textOf: (email: EmailToSend) => Promise<string>
    loadAttachments: (outboxId: string) => Promise<Attachment[]>
    /** Bounds the bytes of attachments that are in memory at once. */
    attachmentMemory: Pick<WeightedSemaphore, 'runWith'>
  }
  outbox: {
    /** Commits SENT_ATTEMPT. false: the lease is lost, or somebody else is changing the e-mail. */
    commitStart: (start: AttemptStart) => Promise<boolean>
    /** Whether a recipient was put on the suppression list since the e-mail was read. */
    isNewlySuppressed: (email: EmailToSend) => Promise<boolean>
  }
  observe: AttemptObserver
  settings: OutcomeSettings & { timeoutMs: number }
  clock: { nowMs: () => number; random: () => number }
}

type Ended = Omit<Attempt, 'durationMs'>
type Message = { email: EmailToSend; provider: Provider; message: OutgoingMessage; suppressed: RecipientToSend[] }
/** `readByMs`: by then, the e-mail and what is suppressed of it had been read. */
type Prepared = Message & { readByMs: number }

/** Step 3: validate → pick a provider → commit SENT_ATTEMPT → call the provider → outcome. */
export async function attemptEmail(claimed: ClaimedEmail, deps: AttemptDeps): Promise<Attempt> {
  const startedMs = deps.clock.nowMs()
  const ended = await deps.observe.attempt(claimed, observed => validateAndSend(observed, deps))
  return { ...ended, durationMs: Math.round(deps.clock.nowMs() - startedMs) }
}

async function validateAndSend(claimed: ClaimedEmail, deps: AttemptDeps): Promise<Ended> {
  const { email } = claimed
  const readByMs = deps.clock.nowMs()
  if (!email) return withoutCall({ kind: 'not-ours' })
  const reason = reasonNotToSend(email)
  if (reason) return withoutCall(reason)
  const prepared = email.unresolvedAttempt ? email : await deps.content.prepare(email, claimed.companyId)
  if (!prepared) return withoutCall({ kind: 'not-ours' })
  if ('failure' in prepared) return withoutCall({ kind: 'dead', status: 'FAILED', ...prepared })
  return deps.content.attachmentMemory.runWith(prepared.fileBytes, () => send(claimed, prepared, readByMs, deps))
}

async function send(claimed: ClaimedEmail, email: EmailToSend, readByMs: number, deps: AttemptDeps): Promise<Ended> {
  if (deps.stopping.aborted) return BACK_TO_READY
  const provider = await deps.providers.route(email)
  if (!provider) return withoutCall(withoutProvider(email))
  try {
    const message = await prepareMessage(email, provider, deps)
    const ended = await startInSlot(claimed, { ...message, readByMs }, deps)
    if (!ended.call) deps.providers.notCalled(provider)
    return ended
  } catch (error) {
    deps.providers.notCalled(provider)
    throw error
  }
}

async function startInSlot(claimed: ClaimedEmail, prepared: Prepared, deps: AttemptDeps): Promise<Ended> {
  const { starts } = deps.slots
  if (!(await starts.enter())) return BACK_TO_READY
  return startAndCall(claimed, prepared, deps).finally(() => starts.leave())
}

const withoutCall = (outcome: Outcome): Ended => ({ outcome, call: null })
const BACK_TO_READY = withoutCall({ kind: 'back-to-ready' })

/** Only the provider of an unresolved attempt can say what became of it. */
function withoutProvider({ unresolvedAttempt }: EmailToSend): Outcome {
  if (!unresolvedAttempt) return { kind: 'back-to-ready' }
  return { kind: 'cannot-repeat', provider: unresolvedAttempt.provider, reason: 'PROVIDER_UNAVAILABLE' }
}

/** What waits for something else comes before SENT_ATTEMPT: a worker that dies here has sent nothing. */
async function prepareMessage(email: EmailToSend, provider: Provider, deps: AttemptDeps): Promise<Message> {
  const text = await deps.content.textOf(email)
  const attachments = email.files > 0 ? await deps.content.loadAttachments(email.outboxId) : []
  // The provider recognises an unresolved attempt by its body, too: it must be the same.
  const suppressed = email.unresolvedAttempt ? [] : email.recipients.filter(one => one.suppressed)
  return { email, provider, message: toMessage(email, suppressed, text, attachments), suppressed }
}

/**
 * An attempt starts before a call slot is free, so that many starts share a commit. A worker that dies in between leaves an
 * unknown send although nothing left. With `onUnknown: hold` that needs a person, so such an e-mail takes the call slot first.
 */
async function startAndCall(claimed: ClaimedEmail, prepared: Prepared, deps: AttemptDeps): Promise<Ended> {
  const { calls } = deps.slots
  const call = () => callProvider(prepared, deps)
  if (prepared.email.onUnknown === 'hold') return inSlot(calls, () => startThen(call))
  return startThen(() => inSlot(calls, call))

  async function startThen(next: () => Promise<Ended>): Promise<Ended> {
    const start = await commitSentAttempt(claimed, prepared, deps)
    return start === 'committed' ? next() : withoutCall({ kind: start })
  }
}

/** The provider may be called only after `committed`. */
async function commitSentAttempt(
  { outboxId, leaseId }: ClaimedEmail,
  prepared: Prepared,
  deps: AttemptDeps,
): Promise<'committed' | 'back-to-ready' | 'not-ours'> {
  const { email, provider, message, suppressed } = prepared
  if (!(await waitForRateAndRecheck(prepared, deps))) return 'back-to-ready'
  const isOurs = await deps.outbox.commitStart({
    outboxId,
    leaseId,
    attemptId: message.attemptId,
    provider: provider.name,
    attempt: attemptNumber(email),
    attemptsBefore: email.attempts,
    suppressedOrdinals: suppressed.map(one => one.ordinal),
  })
  return isOurs ? 'committed' : 'not-ours'
}

/** After a wait as long as this, for a slot or for the rate, a recipient may have been suppressed. */
const RECHECK_SUPPRESSION_AFTER_MS = 1_000

/** At a low rate the wait may take minutes. false: the rate has no room, the process stops, or a recipient was suppressed. */
async function waitForRateAndRecheck(
  { email, provider, message, readByMs }: Prepared,
  deps: AttemptDeps,
): Promise<boolean> {
  const { stopping } = deps
  if (stopping.aborted) return false
  const hasRoom = await deps.providers.waitForRate(provider, rateAmount(provider, message), ms =>
    sleepUnlessAborted(ms, stopping),
  )
  if (!hasRoom || stopping.aborted) return false
  const waitedLong = deps.clock.nowMs() - readByMs > RECHECK_SUPPRESSION_AFTER_MS
  return !waitedLong || !(await deps.outbox.isNewlySuppressed(email))
}

const rateAmount = ({ limitsMessages }: Provider, { to, cc, bcc }: OutgoingMessage) =>
  limitsMessages ? 1 : to.length + cc.length + bcc.length

async function callProvider(prepared: Prepared, deps: AttemptDeps): Promise<Ended> {
  const { email, provider, message, suppressed } = prepared
  const { clock, settings } = deps
  const calledMs = clock.nowMs()
  const send = () => provider.send(message, AbortSignal.timeout(settings.timeoutMs))
  const result = await deps.observe.call(prepared, send)
  deps.providers.report(provider, result, { callMs: clock.nowMs() - calledMs, amount: rateAmount(provider, message) })
  const outcome = decideOutcome(result, email, provider, settings, clock.random)
  const events = result.kind === 'sent' ? result.events : []
  return { outcome, call: { provider: provider.name, attemptId: message.attemptId, suppressed, events } }
}

/** Finds a reason not to send the e-mail, whatever its content is. null: there is none. */
export function reasonNotToSend(email: EmailToSend): Outcome | null {
  if (email.unresolvedAttempt) return reasonNotToRepeat(email)
  if (email.expired) return { kind: 'expired' }
  if (email.attempts >= email.maxAttempts) return { kind: 'dead', status: 'DLQ', failure: ATTEMPTS_EXHAUSTED }
  const to = email.recipients.filter(one => one.kind === 'to')
  if (to.length > 0 && to.every(one => one.suppressed))
    return { kind: 'suppressed', hashes: to.map(one => hashEmail(one.address)) }
  return null
}

/**
 * Its message may have left already: the call is repeated to learn that, even if the e-mail has expired or become invalid. But if the
 * first call never arrived, the repeated one is the first delivery, and a recipient that is suppressed by now must not get it.
 */
function reasonNotToRepeat({ unresolvedAttempt, recipients }: EmailToSend): Outcome | null {
  return recipients.some(one => one.suppressed)
    ? { kind: 'cannot-repeat', provider: unresolvedAttempt!.provider, reason: 'RECIPIENT_SUPPRESSED' }
    : null
}

const ATTEMPTS_EXHAUSTED = {
  code: 'ATTEMPTS_EXHAUSTED',
  category: 'PERMANENT_ERROR',
  message: 'No attempts are left; the last one ended when its worker crashed or was lost',
}

/** The message as the provider gets it. */
export function toMessage(
  email: EmailToSend,
  suppressed: RecipientToSend[],
  text: string,
  attachments: Attachment[],
): OutgoingMessage {
  const recipients = email.recipients.filter(one => !suppressed.includes(one))
  const only = (kind: RecipientToSend['kind']) => recipients.filter(one => one.kind === kind).map(formatRecipient)
  return {
    outboxId: email.outboxId,
    attemptId: email.unresolvedAttempt?.attemptId ?? uuidv7(),
    companyId: email.companyId,
    from: email.from!,
    to: only('to'),
    cc: only('cc'),
    bcc: only('bcc'),
    replyTo: email.replyTo ?? [],
    subject: email.subject!,
    html: email.html,
    text,
    headers: email.headers ?? {},
    tags: email.tags,
    attachments: attachments.map(withoutUnusableContentId),
  }
}

/** Without a content id every provider sends the file as an attachment, which is right for types that must not be shown inline. */
function withoutUnusableContentId(file: Attachment): Attachment {
  return file.contentId === null || mayBeInline(file) ? file : { ...file, contentId: null }
}

function formatRecipient({ name, address }: RecipientToSend): string {
  return name ? `"${name.replace(/["\\]/g, '\\$&')}" <${address}>` : address
}
