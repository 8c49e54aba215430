import { type Queryable, run } from '../query.ts'

/** In small bites, so that it never holds the table. */
export async function deleteExpiredKeys(db: Queryable): Promise<void> {
  await run(
    db,
    'delete-expired-idempotency-keys',
    `delete from idempotency_keys where (company_id, key) in (
       select company_id, key from idempotency_keys where expires_at < now() order by expires_at limit 10000)`,
    [],
  )
}
