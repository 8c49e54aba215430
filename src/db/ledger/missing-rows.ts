import { type Queryable, runUnprepared } from '../query.ts'

const MAX_NAMED = 1_000

/**
 * Names the deleted e-mails of a day by the recipients they left behind, before the day is counted again. Both tables are read by their
 * primary keys only: about two seconds for a million e-mails.
 */
export async function nameMissingRows(db: Queryable, day: string): Promise<void> {
  let named = 0
  for (let hour = 0; hour < 24 && named < MAX_NAMED; hour++) {
    const low = Date.parse(`${day}T00:00:00Z`) + hour * 3_600_000
    const bounds = [low, low + 3_600_000].map(ms => new Date(ms).toISOString())
    named += (await runUnprepared(db, NAME_HOUR, [day, ...bounds])).length
  }
}

const NAME_HOUR = `
with missing as materialized (
  select r.outbox_id from email_recipients r
  where r.outbox_id >= uuid_v7_floor($2::timestamptz) and r.outbox_id < uuid_v7_floor($3::timestamptz) and r.ordinal = 0
    and not exists (select from email_outbox o where o.outbox_id = r.outbox_id
      and o.outbox_id >= uuid_v7_floor($2::timestamptz) and o.outbox_id < uuid_v7_floor($3::timestamptz))
  limit ${MAX_NAMED}
)
insert into ledger_faults (kind, day, outbox_id, company_id)
select 'ROW_MISSING', $1, m.outbox_id, (select v.company_id from email_events v where v.outbox_id = m.outbox_id limit 1) from missing m
on conflict (day, kind, outbox_id, company_id) do nothing
returning outbox_id`
