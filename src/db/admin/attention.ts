import type { Attention } from '../../contracts/admin/overview.ts'
import { iso, type Queryable, run } from '../query.ts'

/** Dead letters are grouped over the newest of them, so that the query stays cheap whatever happened. */
const MAX_DEAD_LETTERS = 5_000
const MAX_ROWS = 50

/** What somebody should look at, without what the queue and the providers already show. companyId null: of every company. */
export async function listAttention(db: Queryable, companyId: string | null): Promise<Attention[]> {
  return run<Attention>(
    db,
    'list-attention',
    `select a.kind, a.count, ${iso('a.since')} as since, a.code, a.company_id as "companyId", c.name as "companyName" from (
       (select 'dead-letters' as kind, count(*)::int as count, min(moved_at) as since, last_failure_code as code, company_id
        from (select moved_at, last_failure_code, company_id from dead_letters
          where original_data is not null and moved_at > now() - interval '24 hours' order by moved_at desc limit ${MAX_DEAD_LETTERS}) d
        group by last_failure_code, company_id)
       union all
       (select 'company-paused', 1, paused_at, pause_reason, company_id from companies where paused_at is not null limit ${MAX_ROWS})
       union all
       (select 'company-warned', 1, warned_at, warn_reason, company_id from companies where warned_at is not null limit ${MAX_ROWS})
       union all
       (select 'webhooks-disabled', count(*)::int, min(disabled_at), min(disabled_reason), company_id from webhook_endpoints
        where disabled_reason in ('GONE', 'FAILING') group by company_id limit ${MAX_ROWS})
       union all
       (select 'ledger-imbalance', sum(imbalance - acknowledged)::int, min(day)::timestamp at time zone 'UTC', null, null::uuid from ledger
        where imbalance > 0 and imbalance > acknowledged having count(*) > 0)
     ) a left join companies c using (company_id)
     where $1::uuid is null or a.company_id = $1 order by a.kind <> 'ledger-imbalance', a.kind, a.count desc, a.since limit ${MAX_ROWS}`,
    [companyId],
  )
}
