import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Claim } from './claim-cost.ts'

/**
 * Reference of the claim: first in, first out, as every Postgres queue does it. A table as wide as email_ready, under the
 * same vacuum settings, and one lease per batch, stored as in leases. It knows no companies and no state of the e-mail.
 */
const TABLES = `
drop table if exists fifo_ready, fifo_leases;
create table fifo_ready (
  company_id uuid not null,
  priority   smallint not null,
  outbox_id  uuid not null primary key
) with (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);
create table fifo_leases (
  lease_id   uuid primary key,
  holder     text not null,
  outbox_ids uuid[] not null,
  taken_at   timestamptz not null default now(),
  expires_at timestamptz not null
) with (toast_tuple_target = 8160);
alter table fifo_leases alter column outbox_ids set storage external`

/** Ids in the order of time, as the product makes them, the companies taking turns. */
export async function fillFifo(db: pg.Pool | pg.ClientBase, backlog: number, companies: number): Promise<void> {
  await db.query(TABLES)
  await db.query(
    `insert into fifo_ready (company_id, priority, outbox_id)
     select md5((n % $2::int)::text)::uuid, 5,
       (left(hex, 8) || '-' || right(hex, 4) || '-7' || substr(md5(n::text), 1, 3) || right(gen_random_uuid()::text, 18))::uuid
     from generate_series(1, $1::int) n
     cross join lateral (select lpad(to_hex((extract(epoch from now()) * 1000)::bigint + n), 12, '0') as hex) t`,
    [backlog, companies],
  )
  await db.query('vacuum analyze fifo_ready')
}

/**
 * `= any(array(…))`, not `in (…)`: a generic plan does not know the limit, expects a tenth of the table and joins with all of
 * it. With 200 000 waiting, `in` cost 265 µs of CPU per e-mail, this 7 µs (and deleting by ctid as much).
 */
const CLAIM = `
with taken as (
  delete from fifo_ready where outbox_id = any(array(
    select outbox_id from fifo_ready order by outbox_id limit $1 for update skip locked))
  returning outbox_id, company_id
), put_lease as (
  insert into fifo_leases (lease_id, holder, outbox_ids, expires_at)
  select $2, $3, array_agg(outbox_id), now() + $4 * interval '1 second' from taken having count(*) > 0
)
select outbox_id as "outboxId", company_id as "companyId" from taken`

export const claimFifo: Claim = {
  queue: 'fifo_ready',
  leases: 'fifo_leases',
  take: async (client, size) => {
    const { rows } = await client.query({ name: 'claim-fifo', text: CLAIM, values: [size, randomUUID(), 'bench', 60] })
    return rows.length
  },
}
