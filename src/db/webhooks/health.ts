import { iso, type Queryable, run } from '../query.ts'

export type CompanyWebhooks = {
  enabled: number
  /** Enabled, and no success since an attempt failed. */
  failing: number
  /** Disabled by the gateway because of their responses; the latest first. */
  disabled: { webhookId: string; reason: 'GONE' | 'FAILING'; disabledAt: string }[]
}

/** Only companies with endpoints. */
export async function listCompanyWebhooks(db: Queryable): Promise<Map<string, CompanyWebhooks>> {
  const rows = await run<CompanyWebhooks & { companyId: string }>(
    db,
    'list-company-webhooks',
    `select w.company_id as "companyId", (count(*) filter (where w.disabled_at is null))::int as enabled,
       (count(*) filter (where w.disabled_at is null and s.failing_since is not null))::int as failing,
       coalesce(json_agg(json_build_object('webhookId', w.endpoint_id, 'reason', w.disabled_reason, 'disabledAt', ${iso('w.disabled_at')})
         order by w.disabled_at desc) filter (where w.disabled_reason in ('GONE', 'FAILING')), '[]') as disabled
     from webhook_endpoints w left join webhook_state s using (endpoint_id)
     where w.disabled_reason is distinct from 'DELETED' group by w.company_id`,
    [],
  )
  return new Map(rows.map(({ companyId, ...webhooks }) => [companyId, webhooks]))
}
