import type pg from 'pg'
import { z } from 'zod'
import { writeAudit } from '../audit/audit.ts'
import { inTransaction, iso, literal, type Queryable, sql } from '../platform/postgres/query.ts'

/** Days in UTC, both included. Null: a week ago, today, every company. */
type LedgerRange = { since: string | null; until: string | null; companyId: string | null }

const MAX_ROWS = 5_000

/** What was counted; reads no e-mail. */
export async function readLedger(db: Queryable, { since, until, companyId }: LedgerRange): Promise<Ledger> {
  const [row] = await sql<Ledger>(db)`
    with range as materialized (
       select coalesce(${since}::date, (now() at time zone 'UTC')::date - 7) as low, coalesce(${until}::date, (now() at time zone 'UTC')::date) as high
     ), rows as (
       select l.*, c.name from ledger l left join companies c on c.company_id = l.company_id
       where l.day between (select low from range) and (select high from range) and (${companyId}::uuid is null or l.company_id = ${companyId}::uuid)
     ), listed as (
       select * from rows order by imbalance > acknowledged desc, day desc, name, company_id limit ${literal(MAX_ROWS)}
     ), counted as (
       select d.counted_at, d.day = (now() at time zone 'UTC')::date
           or exists (select from ledger l where l.day = d.day and l.waiting + l.unknown > 0) as open
       from email_days d where d.events_dropped_at is null
         and d.day between (select low from range) and least((select high from range), (now() at time zone 'UTC')::date)
     )
     select low::text as since, high::text as until, (select ${iso('min(counted_at)')} from counted where open) as "countedAt",
       (select count(*) from counted where counted_at is null)::int as "uncountedDays",
       not exists (select from rows where imbalance > acknowledged) as balanced,
       (select coalesce(sum(acknowledged), 0)::int from rows) as "acknowledgedEmails",
       (select coalesce(json_agg(json_build_object('day', day, 'companyId', company_id, 'companyName', name, 'accepted', accepted,
           'ended', ended, 'waiting', waiting, 'unknown', unknown, 'imbalance', imbalance, 'missing', missing,
           'imbalancedSince', ${iso('imbalanced_since')}, 'acknowledged', case when acknowledged > 0 then json_build_object(
             'emails', acknowledged, 'at', ${iso('acknowledged_at')}, 'by', acknowledged_by, 'reason', acknowledged_reason) end)
         order by day desc, name, company_id), '[]') from listed) as days
     from range`
  return row!
}

/** How many e-mails are in no place, over all days: those that nobody has acknowledged (0 is right), and the others. */
export async function readImbalance(db: Queryable): Promise<{ open: number; acknowledged: number }> {
  const [row] = await sql<{ open: number; acknowledged: number }>(db, 'ledger-imbalance')`
    select coalesce(sum(imbalance - acknowledged), 0)::float8 as open, coalesce(sum(acknowledged), 0)::float8 as acknowledged
     from ledger where imbalance > 0`
  return row!
}

type NewLoss = { day: string; companyId: string; emails: number; missing: string[] }

/** What nobody has written to a log yet, whichever process found it. Give the transaction in which it is logged. */
export async function takeUnlogged(tx: Queryable): Promise<NewLoss[]> {
  return sql<NewLoss>(tx, 'take-unlogged-losses')`
    update ledger set logged = imbalance where imbalance > 0 and imbalance > greatest(logged, acknowledged)
     returning day::text, company_id, (imbalance - acknowledged)::int as emails, missing`
}

/** day null: every day. */
type Acknowledgement = { day: string | null; by: string; reason: string }

/** More of them are in the table, and not repeated in the audit log. */
const MAX_AUDITED = 100

/** Acknowledges what is lost and not acknowledged yet, and answers it. */
export function acknowledgeLosses(pool: pg.Pool, { day, by, reason }: Acknowledgement): Promise<AcknowledgedLoss[]> {
  return inTransaction(pool, async tx => {
    const losses = await sql<AcknowledgedLoss>(tx)`
      with lost as (
         select day, company_id, imbalance - acknowledged as emails, missing from ledger
         where imbalance > 0 and imbalance > acknowledged and (${day}::date is null or day = ${day}::date) for update
       ), done as (
         update ledger l set acknowledged = imbalance, acknowledged_at = now(), acknowledged_by = ${by}, acknowledged_reason = ${reason}
         from lost where l.day = lost.day and l.company_id = lost.company_id
       )
       select day::text, company_id, emails::int, missing from lost order by day desc, company_id`
    if (losses.length === 0) return losses
    await writeAudit(tx, {
      performedBy: by,
      action: 'LEDGER_ACKNOWLEDGED',
      subjectType: 'ledger',
      subjectId: day ?? 'all',
      companyId: null,
      after: { count: losses.reduce((sum, { emails }) => sum + emails, 0), losses: losses.slice(0, MAX_AUDITED) },
      reason,
    })
    return losses
  })
}

const loss = z.object({
  day: z.iso.date(),
  companyId: z.uuid(),
  emails: z.int(),
  missing: z
    .array(z.uuid())
    .describe('Ids of the e-mails in no place, at most 100; those whose events are gone, too, are not among them'),
})

/** What one call has acknowledged. */
export const acknowledgedSchema = z.object({ acknowledged: z.array(loss) }).meta({ id: 'LedgerAcknowledged' })
type AcknowledgedLoss = z.infer<typeof loss>

const dayRow = z.object({
  day: z.iso.date(),
  companyId: z.uuid(),
  companyName: z.string().nullable(),
  accepted: z.int(),
  ended: z.int().describe('Sent, or ended in another way'),
  waiting: z.int(),
  unknown: z.int(),
  imbalance: z.int().describe('accepted - ended - waiting - unknown: e-mails in no place; 0 is right'),
  missing: loss.shape.missing,
  imbalancedSince: z.iso.datetime().nullable(),
  acknowledged: z
    .object({ emails: z.int(), at: z.iso.datetime(), by: z.string(), reason: z.string() })
    .nullable()
    .describe('How many of the imbalance are known, who has said so last, and why they stay; null: none'),
})
export type LedgerDay = z.infer<typeof dayRow>

export const ledgerSchema = z
  .object({
    since: z.iso.date(),
    until: z.iso.date(),
    countedAt: z.iso
      .datetime()
      .nullable()
      .describe('The oldest count among today and the days with open e-mails; null: there are none'),
    uncountedDays: z.int().describe('Days that were never counted'),
    balanced: z.boolean().describe('No imbalance but what is acknowledged'),
    acknowledgedEmails: z.int(),
    days: z.array(dayRow).describe('The newest day first; at most 5 000, those with an imbalance before others'),
  })
  .meta({ id: 'Ledger' })
export type Ledger = z.infer<typeof ledgerSchema>
