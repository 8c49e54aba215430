import { type Queryable, run } from '../query.ts'
import { ofBatch } from './batch-arrays.ts'
import { EMAIL_TO_SEND, type EmailToSend, WITH_CONTENT } from './load.ts'
import { IS_READY, WAITING_AND_DUE } from './sql.ts'

/**
 * Leases e-mails whose jobs a worker has received: those that wait, are due and are not in `email_ready`. null: not to be sent by this
 * process; absent: there is no such e-mail. `endedLeases` are deleted. Like a claim, it does not wait for the disk: without the lease
 * nothing starts, and the commit of a start flushes what came before it.
 */
export async function leaseDispatched(
  db: Queryable,
  lease: { leaseId: string; holder: string; leaseSeconds: number; outboxIds: string[]; endedLeases: string[] },
): Promise<Map<string, EmailToSend | null>> {
  const { leaseId, holder, leaseSeconds, outboxIds, endedLeases } = lease
  const sorted = outboxIds.toSorted()
  const rows = await run<EmailToSend & { leased: boolean }>(db, 'lease-dispatched', LEASE, [
    sorted,
    sorted[0],
    sorted.at(-1),
    leaseId,
    holder,
    leaseSeconds,
    endedLeases,
  ])
  return new Map(rows.map(({ leased, ...email }) => [email.outboxId, leased ? email : null]))
}

const LEASE = `
with found as materialized (
  select o.*, ${WAITING_AND_DUE} and not ${IS_READY} as leased
  from email_outbox o
  where ${ofBatch('o')} and (select set_config('synchronous_commit', 'off', true)) = 'off'
), put_lease as (
  insert into leases (lease_id, kind, holder, outbox_ids, expires_at)
  select $4, 'work', $5, array_agg(outbox_id), now() + $6 * interval '1 second' from found where leased having count(*) > 0
), gone as (
  delete from leases where lease_id = any($7)
)
select o.leased, ${EMAIL_TO_SEND} from found o ${WITH_CONTENT}`
