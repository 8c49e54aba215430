import { type Queryable, run } from '../query.ts'

export type DomainCalls = { calls: number; retryAfterSeconds: number }

/** Counts one more call of this minute, up to one above the limit. The minute begins with its first call. */
export async function countDomainCall(db: Queryable, companyId: string, limit: number): Promise<DomainCalls> {
  const [row] = await run<DomainCalls>(
    db,
    'count-domain-call',
    `insert into domain_calls as c (company_id) values ($1)
     on conflict (company_id) do update set
       calls = case when c.since between now() - interval '1 minute' and now() then least(c.calls + 1, $2 + 1) else 1 end,
       since = case when c.since between now() - interval '1 minute' and now() then c.since else now() end
     returning calls, ceil(extract(epoch from since + interval '1 minute' - now()))::int as "retryAfterSeconds"`,
    [companyId, limit],
  )
  return row!
}
