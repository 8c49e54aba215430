import { fragment, literal, type Queryable, sql } from '../platform/postgres/query.ts'
import type { LiveFigures } from './overview.ts'

/**
 * Pages ask every two seconds, get an answer that is a second or two old, and may miss one. A transaction writes its events with the
 * time of its begin and commits later.
 */
const WINDOW = fragment`interval '10 seconds'`
/** Above a thousand events a second, the newest come a few seconds later. */
const MAX_EVENTS = 10_000
/** More than a page of the list has. */
const MAX_EMAILS = 100

/**
 * E-mails with events in the last seconds, the newest first. What moves is read, and not what is kept: with a year of daily partitions
 * 183 blocks while nothing moves (2 M e-mails), 604 at 100 e-mails a second (explain (analyze, buffers), 2026-11-19).
 */
export function listChangedEmails(db: Queryable): Promise<LiveFigures['emails']> {
  return sql<LiveFigures['emails'][number]>(db, 'list-changed-emails')`
    with recent as materialized (
       select e.outbox_id from email_events e where e.created_at >= now() - ${WINDOW} limit ${literal(MAX_EVENTS)}
     ), changed as materialized (
       select distinct outbox_id from recent order by outbox_id desc limit ${literal(MAX_EMAILS)}
     )
     select o.outbox_id, o.company_id, o.status
     from changed cross join lateral (select * from email_outbox o where o.outbox_id = changed.outbox_id limit 1) o
     order by o.outbox_id desc`
}
