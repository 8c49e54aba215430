import { createHash } from 'node:crypto'
import { pino } from 'pino'
import { acceptRequests } from '../../src/outbox/accept.ts'
import { type Claim, type Claimed, claimFairBatch, returnToReady, returnWhenUnlocked } from '../../src/outbox/claim.ts'
import { type RenderedContent, storeRenderedContents } from '../../src/outbox/content.ts'
import type { Draft, DraftRecipientRecord, RequestToStore } from '../../src/outbox/draft.ts'
import { type EmailToSend, isNewlySuppressed, loadAttachments, loadEmailsToSend } from '../../src/outbox/load.ts'
import { storeProviderEvents } from '../../src/outbox/provider-events.ts'
import { settleAttempts } from '../../src/outbox/settle.ts'
import { type AttemptStart, startAttempts } from '../../src/outbox/start.ts'
import type { AttemptDeps } from '../../src/pipeline/attempt/attempt.ts'
import { makeAttachmentMemory } from '../../src/pipeline/attempt/compose.ts'
import { prepareContent } from '../../src/pipeline/attempt/content.ts'
import { attemptLog, observeAttempts } from '../../src/pipeline/attempt/observe.ts'
import type { ClaimedEmail } from '../../src/pipeline/lanes/lane.ts'
import { attemptAndSettle, type SettleDeps } from '../../src/pipeline/settle/settle.ts'
import { toIncomingEvents } from '../../src/pipeline/settle/synchronous-events.ts'
import { HtmlChecker } from '../../src/platform/html/check.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import { Semaphore } from '../../src/platform/semaphores.ts'
import { NO_TRACING } from '../../src/platform/telemetry/tracing.ts'
import { addressKey, type MailAddress, parseAddress } from '../../src/platform/text/addresses.ts'
import { hashEmail } from '../../src/platform/text/hashing.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { captureProvider } from '../../src/providers/capture/capture.ts'
import { countThrottled, putCaptured } from '../../src/providers/capture/inbox.ts'
import type { Provider } from '../../src/providers/provider.ts'
import { PublishedTemplates } from '../../src/templates/published.ts'
import type { Answer } from './gateway.ts'

const silent = pino({ level: 'silent' })

export type DraftChange = Partial<Draft> & { to?: string; cc?: string[] }

/** An e-mail as the accept step drafts it. */
export function draft(companyId: string, { to = 'maria@example.com', cc = [], ...change }: DraftChange = {}): Draft {
  const address = (kind: 'to' | 'cc', text: string) => {
    const hash = hashEmail(text)
    return { kind, address: text, name: null, hash, key: addressKey(hash) }
  }
  return {
    index: 0,
    outboxId: uuidv7(),
    eventId: uuidv7(),
    companyId,
    requestId: 'r-1',
    externalId: null,
    test: false,
    from: 'shop@example.com',
    subject: 'Hello',
    template: null,
    templateVersion: null,
    tags: [],
    priority: 5,
    retryPolicy: 'steps',
    onUnknown: 'resend',
    maxAttempts: 5,
    delayMs: null,
    scheduledAt: null,
    html: '<p>It works.</p>',
    htmlProof: null,
    text: null,
    replyTo: null,
    headers: null,
    variables: null,
    addresses: [address('to', to), ...cc.map(one => address('cc', one))],
    recipientRecord: null,
    attachments: [],
    resendOf: null,
    traceparent: null,
    ...change,
  }
}

/** One request with these e-mails; a key stands for its own text as body. */
export function unit(drafts: Draft | Draft[], key: string | null = null, body = key ?? ''): RequestToStore {
  const fingerprint = createHash('sha256').update(body).digest('hex')
  return {
    drafts: [drafts].flat(),
    strict: true,
    idempotency: key === null ? null : { key, fingerprint },
    refusedBefore: [],
  }
}

export function recipientRecord(identity: string, change: Partial<DraftRecipientRecord> = {}): DraftRecipientRecord {
  return {
    recipientId: uuidv7(),
    mustExist: false,
    identity: `external:${identity}`,
    externalId: identity,
    cpfCnpjHash: null,
    cpfCnpjCipher: null,
    razaoSocial: null,
    nome: null,
    email: 'maria@example.com',
    ...change,
  }
}

/** Accepts what must be acceptable and answers the ids. */
export async function accept(db: Queryable, drafts: Draft[]): Promise<string[]> {
  if (drafts.length === 0) return []
  const outcomes = await acceptRequests(
    db,
    drafts.map(one => unit(one)),
  )
  for (const outcome of outcomes) {
    if (outcome instanceof Error) throw outcome
    if (outcome.kind !== 'answered' || outcome.answer.results[0]!.status !== 'ACCEPTED')
      throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
  }
  return drafts.map(one => one.outboxId)
}

const OUTBOX_TABLES = `email_ready email_scheduled leases email_events email_recipients email_content email_outbox dead_letters
  unknown_sends counters company_flow capture_inbox provider_events`
/** Empties the outbox and what hangs on it; companies stay. To truncate that many partitions would take a quarter of a second. */
export const EMPTY_OUTBOX = OUTBOX_TABLES.split(/\s+/)
  .map(table => `delete from ${table}`)
  .concat('update statistics set reputation_sent = 0, reputation_bounced = 0, reputation_complained = 0')
  .join(';')

export type Lease = { leaseId: string; claimed: Claimed[] }

export async function claim(db: Queryable, size: number, perTurn = 3, change: Partial<Claim> = {}): Promise<Lease> {
  const leaseId = uuidv7()
  const claimed = await claimFairBatch(db, {
    leaseId,
    kind: 'work',
    holder: 'test',
    leaseSeconds: 60,
    size,
    perTurn,
    endedLeases: [],
    allowances: new Map(),
    defaultAllowance: 1_000_000,
    ...change,
  })
  return { leaseId, claimed }
}

/** The order of claims: a claim's number is drawn while it holds the cursor, whoever makes it and whenever it commits. */
export async function numberLeases(db: Queryable): Promise<void> {
  await db.query('alter table leases add column place bigserial')
}

export async function claimedInOrder(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ outbox_ids: string[] }>('select outbox_ids from leases order by place')
  return rows.flatMap(row => row.outbox_ids)
}

/** What a worker holds after its claim. */
export async function receive(db: Queryable, { leaseId, claimed }: Lease): Promise<ClaimedEmail[]> {
  const emails = await loadEmailsToSend(
    db,
    claimed.map(one => one.outboxId),
  )
  const claimedAtMs = Date.now()
  return claimed.map(one => ({
    ...{ ...one, leaseId, claimedAtMs, leaveFlight: () => {} },
    email: emails.get(one.outboxId) ?? null,
  }))
}

/** What a worker says right before the first byte leaves. */
export function startOf(leaseId: string, outboxId: string, change: Partial<AttemptStart> = {}): AttemptStart {
  return {
    outboxId,
    leaseId,
    attemptId: uuidv7(),
    provider: 'capture',
    attempt: 1,
    attemptsBefore: 0,
    suppressedOrdinals: [],
    ...change,
  }
}

/** Starts what of a claim still waits and is due, as a worker does, and answers which it may really send. */
export async function start(db: Queryable, lease: Lease): Promise<string[]> {
  const received = await receive(db, lease)
  const starts = received.flatMap(({ outboxId, leaseId, email }) =>
    email ? startOf(leaseId, outboxId, { attemptsBefore: email.attempts, attempt: email.attempts + 1 }) : [],
  )
  if (starts.length === 0) return []
  const held = await startAttempts(db, starts)
  return starts.filter((_, index) => held[index]).map(one => one.outboxId)
}

type WorkerChange = {
  route?: (email: EmailToSend) => Provider | null
  notCalled?: AttemptDeps['providers']['notCalled']
  waitForRate?: AttemptDeps['providers']['waitForRate']
  slots?: AttemptDeps['slots']
  memory?: AttemptDeps['content']['attachmentMemory']
  commitStart?: AttemptDeps['outbox']['commitStart']
  nowMs?: () => number
  write?: SettleDeps['outbox']['write']
  countSent?: SettleDeps['count']['sent']
}

/** A worker without a lane: everything real, one e-mail at a time. */
export function worker(db: Queryable, change: WorkerChange = {}): (claimed: ClaimedEmail) => Promise<void> {
  const steps = { attempt: attemptDepsOf(db, change), settle: settleDepsOf(db, change) }
  return claimed => attemptAndSettle(claimed, steps)
}

function attemptDepsOf(db: Queryable, change: WorkerChange): AttemptDeps {
  const capture = captureProvider({
    put: async item => (await putCaptured(db, [item]))[0]!,
    timesThrottled: outboxId => countThrottled(db, outboxId),
  })
  const html = new HtmlChecker('a key')
  const content = {
    html,
    templates: new PublishedTemplates(db),
    sender: {
      defaultFrom: (parseAddress('gateway@example.com') as { value: MailAddress }).value,
      captureOnly: true,
    },
    store: async (rendered: RenderedContent) => (await storeRenderedContents(db, [rendered]))[0]!,
  }
  const { route = () => capture, waitForRate = async () => true, nowMs = () => performance.now() } = change
  const { notCalled = () => {} } = change
  return {
    providers: { route: async email => route(email), notCalled, report: () => {}, waitForRate },
    slots: change.slots ?? { starts: new Semaphore(1000), calls: new Semaphore(1000) },
    stopping: new AbortController().signal,
    content: {
      prepare: (email, companyId) => prepareContent(email, companyId, content),
      textOf: async email => email.text ?? html.textOf(email.html!, email.companyId),
      loadAttachments: outboxId => loadAttachments(db, outboxId),
      attachmentMemory: change.memory ?? makeAttachmentMemory(),
    },
    outbox: {
      commitStart: change.commitStart ?? (async start => (await startAttempts(db, [start]))[0]!),
      isNewlySuppressed: email => isNewlySuppressed(db, email),
    },
    observe: observeAttempts(NO_TRACING, attemptLog(silent)),
    settings: { graceSeconds: 120, retryPolicy: 'steps', timeoutMs: 30_000 },
    clock: { nowMs, random: Math.random },
  }
}

function settleDepsOf(db: Queryable, change: WorkerChange): SettleDeps {
  return {
    outbox: {
      write: change.write ?? (async settlement => (await settleAttempts(db, [settlement]))[0]!),
      returnToReady: outboxId => returnToReady(db, [outboxId]),
      returnWhenUnlocked: outboxId => returnWhenUnlocked(db, [outboxId]),
      storeEvents: sent => storeProviderEvents(db, toIncomingEvents(sent)),
    },
    count: { sent: change.countSent ?? (() => {}), settled: () => {} },
    wake: { feedback: () => {}, webhooks: () => {} },
    log: attemptLog(silent),
    tracing: NO_TRACING,
  }
}

/** Claims up to `size` and works on all of it, as a worker does that is never lost. */
export async function workOff(db: Queryable, size = 100): Promise<number> {
  const received = await receive(db, await claim(db, size))
  for (const one of received) await worker(db)(one)
  return received.length
}

/** As it comes out of the database; a test says what it should look like. */
type Row = Answer['body']

export type StoredEmail = {
  email: Row
  events: { type: string; metadata: Row; created_at: Date }[]
  recipients: Row[]
  dead: Row | undefined
  inbox: Row[]
}

/** Everything the database knows about one e-mail. */
export async function readEmail(db: Queryable, outboxId: string): Promise<StoredEmail> {
  const of = async (table: string, order = 'outbox_id') =>
    (await db.query(`select * from ${table} where outbox_id = $1 order by ${order}`, [outboxId])).rows
  // The e-mail first, and its events next: what was written together with its status, or with an event, is then there to be read.
  const [email] = await of('email_outbox')
  const events = await of('email_events', 'created_at, event_id')
  const [recipients, [dead], inbox] = await Promise.all([
    of('email_recipients', 'ordinal'),
    of('dead_letters'),
    of('capture_inbox', 'captured_at'),
  ])
  return { email, events, recipients, dead, inbox }
}

export const typesOf = (stored: Pick<StoredEmail, 'events'>) => stored.events.map(event => event.type)

/** The waiting e-mails that nothing would ever wake: neither ready, nor scheduled in time. */
export async function forgotten(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ outbox_id: string }>(
    `select o.outbox_id from email_outbox o
     where o.status in ('PENDING', 'RETRY_SCHEDULED')
       and not exists (select from email_ready r where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id)
       and not exists (select from email_scheduled s where s.outbox_id = o.outbox_id and s.due_at <= coalesce(o.next_attempt_at, now()))
       and not exists (select from leases l where o.outbox_id = any(l.outbox_ids))
     union all
     select o.outbox_id from email_outbox o
     where o.status = 'PROCESSING'
       and not exists (select from leases l where l.lease_id = o.lease_id and o.outbox_id = any(l.outbox_ids))
     union all
     select o.outbox_id from email_outbox o
     where o.status = 'UNKNOWN' and not exists (select from unknown_sends u where u.outbox_id = o.outbox_id)`,
  )
  return rows.map(row => row.outbox_id)
}

/** Their time has come: what waits among the scheduled is due, as if the clock had been moved. */
export async function makeDue(db: Queryable, outboxIds: string[]): Promise<void> {
  await db.query(
    `with due as (
       update email_scheduled set due_at = now() where outbox_id = any($1) and due_at > now() returning outbox_id)
     update email_outbox o set next_attempt_at = now() from due where o.outbox_id = due.outbox_id`,
    [outboxIds],
  )
}

export async function expireLeases(db: Queryable): Promise<void> {
  await db.query(`update leases set expires_at = now() - interval '1 second'`)
}
