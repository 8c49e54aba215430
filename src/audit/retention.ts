import { fragment, literal, type Queryable, sql } from '../platform/postgres/query.ts'

const BATCH = 5_000

/** Entries of both audit logs that are older than that; 0 days: none. */
export async function purgeAudit(db: Queryable, days: number): Promise<void> {
  if (days === 0) return
  for (const table of ['audit_log', 'suppression_audit_log']) {
    let purged: unknown[]
    do
      purged = await sql(db)`
        delete from ${fragment`${table}`} where id in (
           select id from ${fragment`${table}`} where performed_at < now() - ${days} * interval '1 day' order by performed_at, id limit ${literal(BATCH)})
         returning id`
    while (purged.length === BATCH)
  }
}
