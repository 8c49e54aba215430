import { type Queryable, run } from '../platform/postgres/query.ts'

/** Keeps the trace of an e-mail that has none. false: it has one, or somebody else is changing the e-mail. */
export async function keepTrace(db: Queryable, outboxId: string, traceparent: string): Promise<boolean> {
  const kept = await run(
    db,
    'keep-trace',
    `update email_outbox set traceparent = $2 where outbox_id = (
       select outbox_id from email_outbox where outbox_id = $1 and traceparent is null for update skip locked)
     returning 1 as one`,
    [outboxId, traceparent],
  )
  return kept.length > 0
}
