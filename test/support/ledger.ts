import { type EmailEventType, type EmailStatus, mayMove } from '../../src/outbox/states.ts'
import type { Queryable } from '../../src/platform/postgres/query.ts'
import type { SesAcceptance } from './fake-ses.ts'
import { until } from './gateway.ts'
import { forgotten } from './outbox.ts'

export type Ledger = {
  /** Sentences; empty when every promise was kept. */
  broken: string[]
  figures: {
    accepted: number
    SENT: number
    /** Messages at the provider beyond the first of an e-mail. */
    duplicates: number
    /** How often an outcome was unknown, and what ended that. */
    unknown: number
    [resolutionOrStatus: string]: number
  }
}

type Row = {
  outboxId: string
  status: string
  onUnknown: 'resend' | 'hold'
  messageId: string | null
  events: OrderedEvent[]
}

const ENDS = ['SENT', 'REJECTED', 'FAILED', 'DLQ', 'EXPIRED']

/** Compares what was promised, what the database says and what the provider has: after a fault, and after the outbox is drained. */
export async function audit(
  db: Queryable,
  { accepted, log }: { accepted: ReadonlySet<string>; log: SesAcceptance[] },
): Promise<Ledger> {
  const rows = await readRows(db)
  const known = new Map(rows.map(row => [row.outboxId, row]))
  const taken = byEmail(log)
  const broken = [
    ...[...accepted].filter(id => !known.has(id)).map(id => `${id} was answered with 202 and does not exist`),
    ...[...taken.keys()].filter(id => !known.has(id)).map(id => `${id} was sent and does not exist`),
    ...(await forgotten(db)).map(id => `${id} is forgotten`),
    ...rows.flatMap(row => brokenOf(row, taken.get(row.outboxId) ?? [])),
  ]
  return { broken, figures: figuresOf(rows, accepted.size, taken) }
}

function byEmail(log: SesAcceptance[]): Map<string, SesAcceptance[]> {
  const taken = new Map<string, SesAcceptance[]>()
  for (const line of log) {
    const id = line.outboxId ?? ''
    taken.set(id, [...(taken.get(id) ?? []), line])
  }
  return taken
}

function brokenOf(row: Row, sent: SesAcceptance[]): string[] {
  const { outboxId, status, events } = row
  const say = (what: string) =>
    `${outboxId} ${what}: ${status}, ${sent.length} sent, ${events.map(one => one.type).join(' ')}`
  const attempts = new Set(events.filter(one => one.type === 'SENT_ATTEMPT').map(one => one.metadata.attemptId))
  const resends = events.filter(one => one.type === 'RESOLVED' && one.metadata.by === 'policy-resend').length
  const unknown = events.some(one => one.type === 'UNKNOWN')
  const broken: string[] = []
  if (!ENDS.includes(status)) broken.push(say('has not ended'))
  if (sent.length > 1 + resends) broken.push(say('was sent more often than its policy allows'))
  if (sent.length > 1 && row.onUnknown === 'hold') broken.push(say('was sent twice in spite of hold'))
  if (sent.some(line => !attempts.has(line.attemptId))) broken.push(say('left without a SENT_ATTEMPT before it'))
  if (status === 'SENT' && !sent.some(line => line.messageId === row.messageId))
    broken.push(say('is SENT under a message id that the provider does not know'))
  if (status !== 'SENT' && sent.length > 0 && !unknown) broken.push(say('was sent and does not say so'))
  if (events.filter(one => one.type === 'SENT').length !== Number(status === 'SENT'))
    broken.push(say('does not have one SENT event for being SENT'))
  return [...broken, ...illegalSteps(status, events).map(step => say(`has an impossible step (${step})`))]
}

function figuresOf(rows: Row[], accepted: number, taken: Map<string, SesAcceptance[]>): Ledger['figures'] {
  const figures: Ledger['figures'] = { accepted, SENT: 0, duplicates: 0, unknown: 0 }
  const count = (name: string, by = 1) => {
    figures[name] = (figures[name] ?? 0) + by
  }
  for (const { outboxId, status, events } of rows) {
    count(status)
    count('duplicates', Math.max(0, (taken.get(outboxId)?.length ?? 0) - 1))
    for (const { type, metadata } of events) {
      if (type === 'UNKNOWN') count('unknown')
      if (type === 'RESOLVED') count(`resolved by ${metadata.by}`)
    }
  }
  return figures
}

async function readRows(db: Queryable): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select o.outbox_id as "outboxId", o.status, o.on_unknown as "onUnknown", o.message_id as "messageId",
       (select json_agg(json_build_object('type', e.type, 'metadata', e.metadata) order by e.created_at, e.event_id)
        from email_events e where e.outbox_id = o.outbox_id) as events
     from email_outbox o`,
  )
  return rows
}

/** The day of those that are held is over. Answers how many there were; a worker must be running to see it. */
export async function endHolds(db: Queryable): Promise<number> {
  const { rowCount } = await db.query(
    `with held as (update email_outbox set expires_at = now() where status = 'UNKNOWN' returning outbox_id)
     update unknown_sends u set resolve_at = now() from held where u.outbox_id = held.outbox_id`,
  )
  await until(
    async () => (await db.query(`select from email_outbox where status = 'UNKNOWN'`)).rowCount,
    count => count === 0,
    30_000,
  )
  return rowCount ?? 0
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into metadata of every form
type OrderedEvent = { type: EmailEventType; metadata: any }

/** What may come next. Everything else is a late write that should have hit nothing, or one that was lost. */
const NEXT: Partial<Record<EmailEventType, EmailEventType[]>> = {
  QUEUED: ['RECEIVED', 'CANCELLED', 'EXPIRED'],
  // RETRY_SCHEDULED at once: the worker was lost before it sent anything.
  RECEIVED: ['VALIDATED', 'VALIDATION_FAILED', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'EXPIRED'],
  VALIDATED: ['SENT_ATTEMPT'],
  VALIDATION_FAILED: ['FAILED'],
  SENT_ATTEMPT: ['SENT', 'RETRY_SCHEDULED', 'UNKNOWN', 'REJECTED', 'FAILED'],
  RETRY_SCHEDULED: ['RECEIVED', 'CANCELLED', 'EXPIRED'],
  UNKNOWN: ['RESOLVED'],
  RESOLVED: ['RECEIVED', 'SENT', 'RETRY_SCHEDULED', 'REJECTED', 'FAILED'],
  REJECTED: ['DLQ_MOVED'],
  FAILED: ['DLQ_MOVED'],
}

/** The statuses that events bring with them. The status of a dead letter follows from the event before it. */
function statusAfter({ type, metadata }: OrderedEvent, next: OrderedEvent | undefined): EmailStatus | null {
  if (type === 'QUEUED') return 'PENDING'
  if (type === 'SENT_ATTEMPT') return 'PROCESSING'
  if (type === 'RETRY_SCHEDULED') return metadata.parked ? 'PENDING' : 'RETRY_SCHEDULED'
  if (type === 'RESOLVED') return next?.type === 'RECEIVED' ? 'PENDING' : null
  if (type === 'FAILED') return null
  const own: EmailEventType[] = ['UNKNOWN', 'SENT', 'REJECTED', 'EXPIRED', 'CANCELLED']
  return own.includes(type) ? (type as EmailStatus) : null
}

/** The steps in the events of an e-mail that nothing allows, in words. */
function illegalSteps(status: string, events: OrderedEvent[]): string[] {
  const wrong: string[] = []
  if (events[0]?.type !== 'QUEUED') wrong.push(`begins with ${events[0]?.type}`)
  let now: EmailStatus = 'PENDING'
  events.forEach((event, place) => {
    const next = events[place + 1]
    if (next && !NEXT[event.type]?.includes(next.type)) wrong.push(`${event.type} → ${next.type}`)
    const after = statusAfter(event, next)
    if (place === 0 || !after || after === now) return
    if (!mayMove(now, after)) wrong.push(`${now} → ${after}`)
    now = after
  })
  if (!['FAILED', 'DLQ'].includes(status) && now !== status) wrong.push(`events say ${now}, is ${status}`)
  return wrong
}
