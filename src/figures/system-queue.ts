import { DUE_SINCE, READY_HEADS } from '../outbox/claim.ts'
import { fragment, literal, type Queryable, sql } from '../platform/postgres/query.ts'

export type QueueFigures = {
  ready: number
  scheduled: number
  workers: number
  unknown: number
  oldestUnknownSeconds: number | null
}

const upTo100000 = (table: string) => fragment`(select count(*) from (select from ${table} limit 100000) t)::int`

/** Counts up to 100 000, so that the query stays cheap with a large backlog. */
export async function readQueueFigures(db: Queryable): Promise<QueueFigures> {
  const [row] = await sql<QueueFigures>(db, 'read-queue-figures')`
    select ${upTo100000('email_ready')} as ready, ${upTo100000('email_scheduled')} as scheduled,
       (select count(*) from workers where seen_at > now() - interval '15 seconds')::int as workers,
       (select count(*) from unknown_sends)::int as unknown,
       (select extract(epoch from now() - min(since))::float8 from unknown_sends) as "oldestUnknownSeconds"`
  return row!
}

export type WaitingQueue = {
  companyId: string
  ready: number
  oldestWaitingSeconds: number | null
  /** Its mail waits for an administrator. */
  paused: boolean
  /** How many companies have something waiting, also those that are not listed. */
  companies: number
}

/** Up to this many ready e-mails of a company are counted. */
const MAX_COUNTED = 1_000

/**
 * The companies whose mail has waited longest, those that are paused last. Ids rise with time: the lowest one waits longest.
 */
export async function listWaitingQueues(db: Queryable, most: number): Promise<WaitingQueue[]> {
  return sql<WaitingQueue>(db, 'list-waiting-queues')`
    with recursive ${READY_HEADS}, firsts as materialized (
       select distinct on (company_id) company_id, outbox_id from heads order by company_id, outbox_id
     ), oldest as materialized (
       select company_id, outbox_id, paused_at is not null as paused, (count(*) over ())::int as companies
       from firsts join companies using (company_id) order by paused, outbox_id limit ${most}
     )
     select company_id, companies, paused,
       (select extract(epoch from now() - ${DUE_SINCE})::float8
        from email_outbox o where o.outbox_id = oldest.outbox_id limit 1) as "oldestWaitingSeconds",
       (select count(*) from (select from email_ready e where e.company_id = oldest.company_id limit ${literal(MAX_COUNTED)}) e)::int as ready
     from oldest`
}

export type LastServed = { companyId: string; consecutive: number }

/** The company that the claim served last, and how many of its e-mails in a row. */
export async function readFairCursor(db: Queryable): Promise<LastServed | null> {
  const [row] = await sql<LastServed>(db, 'read-fair-cursor')`
    select company_id, run as consecutive from fair_cursor where run > 0`
  return row ?? null
}
