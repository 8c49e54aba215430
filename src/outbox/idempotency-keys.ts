import { type Queryable, sql } from '../platform/postgres/query.ts'

/** Deletes in small batches, so that it never blocks others for long. */
export async function deleteExpiredKeys(db: Queryable): Promise<void> {
  await sql(db, 'delete-expired-idempotency-keys')`
    delete from idempotency_keys where (company_id, key) in (
       select company_id, key from idempotency_keys where expires_at < now() order by expires_at limit 10000)`
}
