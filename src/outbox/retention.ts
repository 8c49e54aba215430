import type pg from 'pg'
import {
  fragment,
  inTransaction,
  literal,
  type Queryable,
  runUnprepared,
  sql,
  withConnection,
} from '../platform/postgres/query.ts'
import { FINAL_STATUSES } from './states.ts'

/** Days that are kept; 0: without end. */
export type DayRetention = { content: number; events: number; emails: number }

/** What goes together. The row of an e-mail takes everything else with it. */
const KINDS = {
  content: { tables: ['email_content', 'email_attachments'], mark: 'content_dropped_at' },
  events: { tables: ['email_events'], mark: 'events_dropped_at' },
  emails: {
    tables: ['email_content', 'email_attachments', 'email_events', 'email_recipients', 'email_outbox'],
    mark: 'emails_dropped_at',
  },
} as const
type Kind = keyof typeof KINDS

/**
 * Drops what is old enough, a day at a time; never a day with an e-mail that is open or could be replayed. Of such a day the content
 * of the other e-mails is deleted. Answers what was dropped.
 */
export async function dropOldDays(pool: pg.Pool, keep: DayRetention): Promise<{ kind: Kind; day: string }[]> {
  const dropped: { kind: Kind; day: string }[] = []
  for (const kind of ['emails', 'events', 'content'] as const) {
    if (keep[kind] === 0) continue
    for (const day of await listOldDays(pool, kind, keep[kind])) {
      if (await dropDay(pool, kind, day)) dropped.push({ kind, day })
    }
  }
  return dropped
}

/** Time to mend or acknowledge what is lost of a day: later, retention drops it all the same. */
const TIME_TO_MEND = fragment`interval '7 days'`

/**
 * Days whose youngest e-mail is older than that and that still have one of the tables. Events go when the ledger has counted the day,
 * every e-mail of it has ended, and nothing is missing.
 */
async function listOldDays(db: Queryable, kind: Kind, days: number): Promise<string[]> {
  const rows = await sql<{ day: string }>(db)`
    select d.day::text from email_days d
     where d.day < (now() at time zone 'UTC')::date - ${days}::int and (${kind} = 'content' or d.events_dropped_at is not null
         or (d.counted_at is not null and not exists (select from ledger l where l.day = d.day and (l.waiting + l.unknown > 0
           or (l.imbalance > l.acknowledged and l.imbalanced_since > now() - ${TIME_TO_MEND})))))
       and exists (select from unnest(${KINDS[kind].tables}::text[]) as parent where to_regclass(parent || '_' || to_char(d.day, 'YYYYMMDD')) is not null)
     order by d.day`
  return rows.map(row => row.day)
}

async function dropDay(pool: pg.Pool, kind: Kind, day: string): Promise<boolean> {
  if (await hasOpenEmail(pool, day)) {
    if (kind === 'content') await deleteEndedContent(pool, day)
    return false
  }
  // Before the tables go, so that their absence is never taken for a loss.
  if (!(await takeDay(pool, kind, day))) return false
  for (const table of KINDS[kind].tables) await dropPartition(pool, table, day)
  if (kind === 'emails') await inTransaction(pool, tx => forgetEmails(tx, day))
  return true
}

const OPEN = `'PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'`
/** Bounds of an hour, so that no statement holds its snapshot for long. */
const ofHour = (id: string) => `${id} >= uuid_v7_floor($1::timestamptz) and ${id} < uuid_v7_floor($2::timestamptz)`

/** An ended e-mail can become open again by a replay only, and that needs the payload of its dead letter. */
async function hasOpenEmail(db: Queryable, day: string): Promise<boolean> {
  for (let hour = 0; hour < 24; hour++) {
    const low = Date.parse(`${day}T00:00:00Z`) + hour * 3_600_000
    const bounds = [low, low + 3_600_000].map(ms => new Date(ms).toISOString())
    const [row] = await runUnprepared<{ open: boolean }>(
      db,
      `select exists (select from dead_letters d where ${ofHour('d.outbox_id')} and d.original_data is not null)
         or exists (select from email_outbox o where ${ofHour('o.outbox_id')} and o.status in (${OPEN})) as open`,
      bounds,
    )
    if (row!.open) return true
  }
  return false
}

/** Other processes leave it alone for an hour. */
async function takeDay(db: Queryable, kind: Kind, day: string): Promise<boolean> {
  const { mark } = KINDS[kind]
  const events = kind === 'emails' ? ', events_dropped_at = coalesce(events_dropped_at, now())' : ''
  const taken = await sql(db)`
    update email_days set drop_started_at = now(), ${fragment`${mark}`} = coalesce(${fragment`${mark}`}, now())${fragment`${events}`}
     where day = ${day} and (${fragment`${mark}`} is null or drop_started_at > now() or drop_started_at < now() - interval '1 hour')
     returning day`
  return taken.length > 0
}

/** What small tables still hold about the e-mails of the day. An erasure that waited for one of them is done with it. */
async function forgetEmails(tx: Queryable, day: string): Promise<void> {
  const bounds = [`${day}T00:00:00Z`, new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString()]
  for (const table of ['dead_letters', 'person_erasure_emails'])
    await runUnprepared(tx, `delete from ${table} where ${ofHour('outbox_id')}`, bounds)
  await sql(tx)`delete from orphan_checks where day = ${day}`
  // The sums are kept. What was lost of the day can no longer be found, nor named.
  await runUnprepared(tx, "update ledger set missing = '{}' where day = $1 and imbalance > 0", [day])
  await sql(tx)`
    update ledger set acknowledged = imbalance, acknowledged_at = now(), acknowledged_by = 'retention', acknowledged_reason = 'The day was dropped'
     where day = ${day} and imbalance > acknowledged`
}

const BATCH = 2_000
const ENDED = [...FINAL_STATUSES, 'SENT'].map(status => `'${status}'`).join(', ')

/** For a day that has an open e-mail, too: in small batches, without the e-mails that are open or could be replayed. */
async function deleteEndedContent(db: Queryable, day: string): Promise<void> {
  const bounds = [`${day}T00:00:00Z`, new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString()]
  for (const table of ['email_content', 'email_attachments']) {
    let deleted: unknown[]
    do deleted = await runUnprepared(db, deleteBatch(table), bounds)
    while (deleted.length === BATCH)
  }
}

const ofDay = (id: string) => `${id} >= uuid_v7_floor($1::timestamptz) and ${id} < uuid_v7_floor($2::timestamptz)`

const deleteBatch = (table: string) => `
with ended as materialized (
  select distinct c.outbox_id from ${table} c join email_outbox o on o.outbox_id = c.outbox_id
  where ${ofDay('c.outbox_id')} and ${ofDay('o.outbox_id')} and o.status in (${ENDED})
    and not exists (select from dead_letters d where d.outbox_id = c.outbox_id and d.original_data is not null)
  limit ${literal(BATCH)}
), deleted as (
  delete from ${table} c where c.outbox_id = any(array(select outbox_id from ended)) and ${ofDay('c.outbox_id')}
)
select outbox_id from ended`

/**
 * Detached concurrently, which waits for transactions that use the table and lets everybody else go on; then it is a table that nobody
 * else has, and dropping it blocks nobody. A plain DROP would wait for a lock on the parent with every accept behind it.
 */
async function dropPartition(pool: pg.Pool, parent: string, day: string): Promise<void> {
  const child = `${parent}_${day.replaceAll('-', '')}`
  await detach(pool, parent, child)
  await inTransaction(pool, async tx => {
    await tx.query(`set local lock_timeout = '2s'`)
    await tx.query(`drop table if exists ${child}`)
  })
}

/** A detachment that was interrupted, by a time limit or a crash, is finished. */
async function detach(pool: pg.Pool, parent: string, child: string): Promise<void> {
  const [attached] = await sql<{ pending: boolean }>(pool)`
    select inhdetachpending as pending from pg_inherits where inhparent = to_regclass(${parent}) and inhrelid = to_regclass(${child})`
  if (!attached) return
  await withConnection(pool, db =>
    db.query(`alter table ${parent} detach partition ${child} ${attached.pending ? 'finalize' : 'concurrently'}`),
  )
}
