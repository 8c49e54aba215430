import { type Queryable, runUnprepared } from '../platform/postgres/query.ts'

const BATCH = 5_000

/** Entries of both audit logs that are older than that; 0 days: none. */
export async function purgeAudit(db: Queryable, days: number): Promise<void> {
  if (days === 0) return
  for (const table of ['audit_log', 'suppression_audit_log']) {
    let purged: unknown[]
    do
      purged = await runUnprepared(
        db,
        `delete from ${table} where id in (
           select id from ${table} where performed_at < now() - $1 * interval '1 day' order by performed_at, id limit ${BATCH})
         returning id`,
        [days],
      )
    while (purged.length === BATCH)
  }
}
