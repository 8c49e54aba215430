import type { EmailStatus } from '../../contracts/states.ts'
import { exactly } from '../outbox/dead-letters.ts'
import { type Queryable, run } from '../query.ts'

export type ChangedEmail = {
  outboxId: string
  companyId: string
  status: EmailStatus
  /** Accepted since the last question. */
  isNew: boolean
}

export type Changes = { until: string; emails: ChangedEmail[]; more: boolean }

/**
 * A transaction writes its events with the time of its begin and commits later, so each question looks back a little further than the
 * last one did. Whoever asks leaves out what was answered before.
 */
const OVERLAP = `interval '3 seconds'`
/** An e-mail that was sent has five events. */
const MAX_EVENTS = 2_000

/** E-mails with events since then, the newest first. since null: from now on. */
export async function readChanges(db: Queryable, since: string | null, limit: number): Promise<Changes> {
  const rows = await run<Partial<ChangedEmail> & { until: string }>(
    db,
    'read-changed-emails',
    `with clock as materialized (select now() as at), recent as materialized (
       select e.outbox_id, e.type from email_events e
       where e.created_at >= coalesce($1::timestamptz, (select at from clock)) - ${OVERLAP} limit ${MAX_EVENTS}
     ), changed as materialized (
       select outbox_id, bool_or(type = 'QUEUED') as is_new from recent group by outbox_id order by outbox_id desc limit $2
     )
     select ${exactly('clock.at')} as until, o.outbox_id as "outboxId", o.company_id as "companyId", o.status, changed.is_new as "isNew"
     from clock left join changed on true
     left join lateral (select * from email_outbox o where o.outbox_id = changed.outbox_id limit 1) o on true
     order by o.outbox_id desc nulls last`,
    [since, limit + 1],
  )
  const emails = rows.filter((row): row is ChangedEmail & { until: string } => Boolean(row.outboxId))
  return {
    until: rows[0]!.until,
    emails: emails.slice(0, limit).map(({ until: _, ...email }) => email),
    more: emails.length > limit,
  }
}
