import type pg from 'pg'
import { inTransaction, run } from '../query.ts'

export type PendingDomain = { companyId: string; domainId: string }
export type PendingRules = { most: number; passSeconds: number; leastSeconds: number; giveUpHours: number }

/**
 * Domains that are not verified and due for a look: after a quarter of their age, and `leastSeconds` at least. They count as looked
 * at from here on. Of several processes one gets them, and none within `passSeconds` of the last pass.
 */
export async function takePendingDomains(pool: pg.Pool, rules: PendingRules): Promise<PendingDomain[]> {
  return inTransaction(pool, async tx => {
    const [lock] = await run<{ taken: boolean }>(
      tx,
      'lock-domain-checks',
      `select pg_try_advisory_xact_lock(hashtext('domains.checked_at')) as taken`,
      [],
    )
    if (!lock!.taken) return []
    return run<PendingDomain>(
      tx,
      'take-pending-domains',
      `with due as (
         select domain_id from domains, lateral (select coalesce(checked_at, created_at) as looked_at) l
         where verified_at is null and created_at > now() - make_interval(hours => $4)
           and looked_at + greatest(make_interval(secs => $3), (looked_at - created_at) / 4) <= now()
           and not exists (select from domains where checked_at > now() - make_interval(secs => $2))
         order by looked_at limit $1
       )
       update domains d set checked_at = now() from due where d.domain_id = due.domain_id
       returning d.company_id as "companyId", d.domain_id as "domainId"`,
      [rules.most, rules.passSeconds, rules.leastSeconds, rules.giveUpHours],
    )
  })
}
