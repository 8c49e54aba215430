import { type Queryable, sql } from '../platform/postgres/query.ts'

/** Keeps the trace of an e-mail that has none. false: it has one, or somebody else is changing the e-mail. */
export async function keepTrace(db: Queryable, outboxId: string, traceparent: string): Promise<boolean> {
  const kept = await sql(db, 'keep-trace')`
    update email_outbox set traceparent = ${traceparent} where outbox_id = (
       select outbox_id from email_outbox where outbox_id = ${outboxId} and traceparent is null for update skip locked)
     returning 1 as one`
  return kept.length > 0
}
