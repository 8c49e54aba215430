import type { Ledger } from '../../contracts/ledger.ts'
import { iso, type Queryable, run, runUnprepared } from '../query.ts'

/** Days in UTC, both included. Null: a week ago, today, every company. */
export type LedgerRange = { since: string | null; until: string | null; companyId: string | null }

const MAX_ROWS = 5_000
const MAX_FAULTS = 1_000

/** What was counted; reads no e-mail. */
export async function readLedger(db: Queryable, { since, until, companyId }: LedgerRange): Promise<Ledger> {
  const [row] = await runUnprepared<Ledger>(
    db,
    `with range as materialized (
       select coalesce($1::date, (now() at time zone 'UTC')::date - 7) as low, coalesce($2::date, (now() at time zone 'UTC')::date) as high
     ), sums as (
       select s.day, s.company_id as "companyId", c.name as "companyName", s.accepted, s.ended, s.waiting, s.unknown,
         s.accepted - s.ended - s.waiting - s.unknown as imbalance, s.closed
       from ledger_sums s left join companies c on c.company_id = s.company_id
       where s.day between (select low from range) and (select high from range) and ($3::uuid is null or s.company_id = $3)
       order by s.day desc, c.name, s.company_id limit ${MAX_ROWS}
     ), found as (
       select f.* from ledger_faults f
       where f.day between (select low from range) and (select high from range) and ($3::uuid is null or f.company_id = $3)
     ), faults as (
       select f.kind, f.day, f.outbox_id as "outboxId", f.company_id as "companyId", c.name as "companyName", f.emails,
         ${iso('f.found_at')} as "foundAt", case when f.acknowledged_at is not null then json_build_object(
           'at', ${iso('f.acknowledged_at')}, 'by', f.acknowledged_by, 'reason', f.acknowledged_reason) end as acknowledged
       from found f left join companies c on c.company_id = f.company_id
       order by f.acknowledged_at is not null, f.day desc, f.outbox_id limit ${MAX_FAULTS}
     ), unexplained as (
       select from sums s where s.imbalance <> 0 and not exists (
         select from ledger_faults f where f.day = s.day and coalesce(f.company_id, s."companyId") = s."companyId")
     ), hours as (
       select s.counted_at, s.final, coalesce(s.counted_at < d.changed_at, true) as uncounted
       from email_days d cross join generate_series(0, 23) as h(hour) left join ledger_slices s on s.day = d.day and s.hour = h.hour
       where d.closed_at is null and d.events_dropped_at is null and d.day between (select low from range) and (select high from range)
         and (d.day + h.hour * interval '1 hour') at time zone 'UTC' <= now()
     )
     select low::text as since, high::text as until,
       (select ${iso('min(counted_at)')} from hours where not final) as "countedAt",
       (select count(*) from hours where uncounted)::int as "uncountedHours",
       not exists (select from unexplained) and not exists (select from found where acknowledged_at is null) as balanced,
       (select coalesce(sum(emails), 0)::int from found where acknowledged_at is not null) as "acknowledgedEmails",
       coalesce((select json_agg(s) from sums s), '[]') as days, coalesce((select json_agg(f) from faults f), '[]') as faults
     from range`,
    [since, until, companyId],
  )
  return row!
}

/** Over all days. */
export async function acknowledgedEmails(db: Queryable): Promise<number> {
  const [row] = await run<{ emails: number }>(
    db,
    'ledger-acknowledged',
    'select coalesce(sum(emails), 0)::float8 as emails from ledger_faults where acknowledged_at is not null',
    [],
  )
  return row!.emails
}

/** How many e-mails do not agree and are not acknowledged, over all days; 0 is right. For the metric ledger_imbalance. */
export async function ledgerImbalance(db: Queryable): Promise<number> {
  const [row] = await run<{ emails: number }>(
    db,
    'ledger-imbalance',
    'select coalesce(sum(emails), 0)::float8 as emails from ledger_faults where acknowledged_at is null',
    [],
  )
  return row!.emails
}
