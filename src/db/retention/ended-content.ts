import { FINAL_STATUSES } from '../../contracts/states.ts'
import { type Queryable, runUnprepared } from '../query.ts'

const BATCH = 2_000
const ENDED = [...FINAL_STATUSES, 'SENT'].map(status => `'${status}'`).join(', ')

/** For a day that has an open e-mail, too: in small batches, without the e-mails that are open or could be replayed. */
export async function deleteEndedContent(db: Queryable, day: string): Promise<void> {
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
  limit ${BATCH}
), deleted as (
  delete from ${table} c where c.outbox_id = any(array(select outbox_id from ended)) and ${ofDay('c.outbox_id')}
)
select outbox_id from ended`
