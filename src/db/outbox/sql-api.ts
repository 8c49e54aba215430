import { type Queryable, run } from '../query.ts'

export type SqlEmail = {
  userId: string | null
  templateType: string
  recipientEmail: string
  payload: Record<string, unknown>
}

/** What `enqueue_email` writes, for the company of an API key. Answers the id of the e-mail. */
export async function putSqlEmail(
  db: Queryable,
  { companyId, test }: { companyId: string; test: boolean },
  { userId, templateType, recipientEmail, payload }: SqlEmail,
): Promise<string> {
  const [row] = await run<{ id: string }>(db, 'put-sql-email', 'select put_sql_email($1, $2, $3, $4, $5, $6) as id', [
    companyId,
    test,
    userId,
    templateType,
    recipientEmail,
    JSON.stringify(payload),
  ])
  return row!.id
}

/** Brings scheduled retries forward. Answers their ids. companyId null: of every company. */
export async function readyRetries(
  db: Queryable,
  { companyId, test }: { companyId: string | null; test: boolean },
  limit: number,
): Promise<string[]> {
  const rows = await run<{ id: string }>(
    db,
    'ready-retries',
    `select ready_retries(case when $1::uuid is null then array(select company_id from companies) else array[$1::uuid] end, $2, $3) as id`,
    [companyId, test, limit],
  )
  return rows.map(({ id }) => id)
}
