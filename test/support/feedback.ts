import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { pino } from 'pino'
import { storeProviderEvents } from '../../src/outbox/provider-events.ts'
import { type FeedbackDeps, recordEvent, recordFeedback } from '../../src/pipeline/feedback/feedback.ts'
import { inTransaction, type Queryable } from '../../src/platform/postgres/query.ts'
import { NO_TRACING } from '../../src/platform/telemetry/tracing.ts'
import { uuidOf } from '../../src/platform/text/uuid.ts'
import type { ProviderEvent } from '../../src/providers/provider.ts'
import { DEFAULT_SUPPRESSION_POLICY } from '../../src/suppression/rules.ts'
import { sesEvent } from './ses-events.ts'

export const feedbackDeps = (db: pg.Pool, change: Partial<FeedbackDeps> = {}): FeedbackDeps => ({
  db,
  suppression: DEFAULT_SUPPRESSION_POLICY,
  emailLog: () => {},
  tracing: NO_TRACING,
  log: pino({ level: 'silent' }),
  ...change,
})

/** Processes what is in the inbox and due, as a worker does. Answers how many reports it took. */
export async function workOffReports(pool: pg.Pool, change: Partial<FeedbackDeps> = {}): Promise<number> {
  let all = 0
  for (;;) {
    const { taken } = await recordFeedback(feedbackDeps(pool, change))
    if (taken === 0) return all
    all += taken
  }
}

/** So that one test may write to the address that another one's mail bounced from. */
const SUPPRESSES_NOBODY = { ...DEFAULT_SUPPRESSION_POLICY, automatic: { HARD_BOUNCE: false, COMPLAINT: false } }

const SES_KIND = { DELIVERED: 'Delivery', BOUNCED: 'Bounce', COMPLAINED: 'Complaint' } as const

/** What a provider says about one e-mail, through the inbox; in the caller's transaction, where it has one. */
export async function tell(db: Queryable, outboxId: string, messageId: string, event: ProviderEvent): Promise<void> {
  const externalId = randomUUID()
  const mail = { outboxId, attemptId: randomUUID(), messageId, to: [event.recipient] }
  const payload = JSON.stringify(sesEvent(SES_KIND[event.kind], mail, event.metadata))
  await storeProviderEvents(db, [{ provider: 'ses', externalId, payload }])
  const eventId = uuidOf(`ses\n${externalId}`)
  const once = (tx: Queryable) =>
    recordEvent(tx, eventId, feedbackDeps(db as pg.Pool, { suppression: SUPPRESSES_NOBODY }))
  for (;;) {
    await (db instanceof pg.Pool ? inTransaction(db, once) : once(db))
    const { rows } = await db.query(
      `update provider_events set next_try_at = now() where event_id = $1 and state = 'waiting' returning 1`,
      [eventId],
    )
    if (rows.length === 0) return
  }
}
