import { type Queryable, runRaw, uuids, WAITING_AND_DUE } from '../pool.ts'
import { ofBatch } from './batch-arrays.ts'
import { EMAIL_COLUMNS, type EmailToSend, emailParts, readEmailRows } from './load.ts'

/**
 * What jobs brought: those that wait, are due and are not in line themselves are in hand under this lease from now on. null: not
 * ours to send; absent: there is no such e-mail. `ended`: leases that end along with it. Like a claim, it does not wait for the
 * disk: without the lease nothing starts, and the commit of a start flushes what came before it.
 */
export async function receiveDispatched(
  db: Queryable,
  lease: { leaseId: string; holder: string; leaseSeconds: number; outboxIds: string[]; ended: string[] },
): Promise<Map<string, EmailToSend | null>> {
  const { leaseId, holder, leaseSeconds, outboxIds, ended } = lease
  const sorted = outboxIds.toSorted()
  const rows = await runRaw(db, 'receive-dispatched', RECEIVE, [
    uuids(sorted),
    sorted[0],
    sorted.at(-1),
    leaseId,
    holder,
    leaseSeconds,
    uuids(ended),
  ])
  const received: Map<string, EmailToSend | null> = readEmailRows(rows)
  for (const row of rows) if (row[0] === 'elsewhere') received.set(row[1]!, null)
  return received
}

const RECEIVE = `
with found as materialized (
  select ${EMAIL_COLUMNS}, ${WAITING_AND_DUE}
    and not exists (select from email_ready r
      where r.company_id = o.company_id and r.priority = o.priority and r.outbox_id = o.outbox_id) as taken
  from email_outbox o
  where ${ofBatch('o')} and (select set_config('synchronous_commit', 'off', true)) = 'off'
), put_lease as (
  insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
  select $4, 'work', $5, array_agg(outbox_id), now() + $6 * interval '1 second' from found where taken having count(*) > 0
), gone as (
  delete from leases where lease_id = any($7)
)
${emailParts('found o where o.taken')}
union all
select 'elsewhere', outbox_id, ${'null, '.repeat(7)}null from found where not taken`
