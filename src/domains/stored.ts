import type pg from 'pg'
import { type Author, writeAudit } from '../audit/audit.ts'
import { lockCompanies } from '../companies/companies.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { fragment, inTransaction, type Queryable, run, sql } from '../platform/postgres/query.ts'

export type DomainRow = {
  domainId: string
  companyId: string
  companyName: string
  domain: string
  /** null: an administrator added it. */
  ownershipToken: string | null
  createdAtProviders: string[]
  verifiedAt: Date | null
  /** The company may send from it: verified and not taken from it by an administrator since, or allowed by an administrator. */
  allowed: boolean
  createdAt: Date
}

const COLUMNS = fragment`d.domain_id, d.company_id, c.name as "companyName", d.domain,
  d.ownership_token, d.created_at_providers, d.verified_at,
  d.domain = any(c.from_domains) as allowed, d.created_at`
const FROM = fragment`domains d join companies c using (company_id)`

/** Newest first. `companyId` null: of all companies. */
export async function listDomains(db: Queryable, companyId: string | null): Promise<DomainRow[]> {
  return sql<DomainRow>(db, 'list-domains')`
    select ${COLUMNS} from ${FROM} where ${companyId}::uuid is null or company_id = ${companyId}::uuid order by d.created_at desc, d.domain_id`
}

/** By its id or its name. */
export async function findDomain(db: Queryable, companyId: string, idOrName: string): Promise<DomainRow | null> {
  const [row] = await sql<DomainRow>(db, 'find-domain')`
    select ${COLUMNS} from ${FROM} where company_id = ${companyId} and (d.domain_id::text = ${idOrName} or d.domain = ${idOrName})`
  return row ?? null
}

/** Another company that may send from the domain. */
export async function findOtherOwner(db: Queryable, domain: string, companyId: string): Promise<string | null> {
  const [row] = await sql<{ name: string }>(db, 'find-other-owner')`
    select name from companies where company_id <> ${companyId} and ${domain} = any(from_domains) order by name limit 1`
  return row?.name ?? null
}

type NewDomain = { companyId: string; domain: string; ownershipToken: string | null }

/** An existing one is kept; added by an administrator, it needs no token any more. null: the company has `limit` of them. */
export async function addDomainRow(
  { pool, clock }: Database,
  { companyId, domain, ownershipToken }: NewDomain,
  limit: number,
  author: Author,
): Promise<DomainRow | null> {
  return inTransaction(pool, async tx => {
    await lockCompanies(tx, companyId)
    const before = await findDomain(tx, companyId, domain)
    if (before && (ownershipToken !== null || isVouched(before))) return before
    if (!before && (await listDomains(tx, companyId)).length >= limit) return null
    await sql(tx, 'add-domain')`
      insert into domains (domain_id, company_id, domain, ownership_token) values (${clock.newId()}, ${companyId}, ${domain}, ${ownershipToken})
       on conflict (company_id, domain) do update set ownership_token = excluded.ownership_token,
         verified_at = case when ${before?.allowed ?? false} then domains.verified_at end`
    const row = (await findDomain(tx, companyId, domain))!
    await audit(tx, row, 'DOMAIN_ADDED', author, { after: { domain, provesOwnership: ownershipToken !== null } })
    return row
  })
}

/** Added by an administrator, and not taken from the company since. */
const isVouched = ({ ownershipToken, verifiedAt, allowed }: DomainRow) =>
  ownershipToken === null && (verifiedAt === null || allowed)

export async function recordCreatedAt(db: Queryable, domainId: string, provider: string): Promise<void> {
  await sql(db, 'record-domain-created-at')`
    update domains set created_at_providers = array_append(created_at_providers, ${provider})
     where domain_id = ${domainId} and not ${provider} = any(created_at_providers)`
}

export type Allowed = { kind: 'allowed' } | { kind: 'taken'; by: string } | { kind: 'gone' }

/** The company may send from it from now on, unless another one may. The lock lets one of two companies go first. */
export async function allowDomain(pool: Database['pool'], row: DomainRow, author: Author): Promise<Allowed> {
  return inTransaction(pool, async tx => {
    await lockDomainName(tx, row.domain)
    await lockCompanies(tx, row.companyId)
    const current = await findDomain(tx, row.companyId, row.domainId)
    if (!current) return { kind: 'gone' }
    const by = await findOtherOwner(tx, row.domain, row.companyId)
    if (by !== null) return { kind: 'taken', by }
    if (current.verifiedAt) return { kind: 'allowed' }
    await run(
      tx,
      'verify-domain',
      // A company that an administrator has taken the domain from is its owner no more.
      `update domains set verified_at = case when domain_id = $1 then now() end
       where domain = $2 and (domain_id = $1 or verified_at is not null)`,
      [row.domainId, row.domain],
    )
    await sql(tx, 'allow-domain')`
      update companies set from_domains = array_append(from_domains, ${row.domain}), updated_at = now()
       where company_id = ${row.companyId} and not ${row.domain} = any(from_domains)`
    await audit(tx, row, 'DOMAIN_VERIFIED', author, { after: { domain: row.domain } })
    return { kind: 'allowed' }
  })
}

/** `shared`: other companies have it too, so it stays at the providers. */
export type Removed = { kind: 'removed'; shared: boolean } | { kind: 'default-sender' }

export async function removeDomainRow(pool: Database['pool'], row: DomainRow, author: Author): Promise<Removed> {
  return inTransaction(pool, async tx => {
    await lockDomainName(tx, row.domain)
    await lockCompanies(tx, row.companyId)
    // What an administrator has allowed does not end with a row that was never verified.
    if (row.verifiedAt !== null && !(await disallow(tx, row))) return { kind: 'default-sender' }
    await sql(tx, 'remove-domain')`delete from domains where domain_id = ${row.domainId}`
    await audit(tx, row, 'DOMAIN_REMOVED', author, { before: { domain: row.domain } })
    const others = await sql(tx, 'find-domain-users')`
      select 1 as one from domains where domain = ${row.domain} union all select 1 from companies where ${row.domain} = any(from_domains) limit 1`
    return { kind: 'removed', shared: others.length > 0 }
  })
}

/** false: the company's default sender is of this domain. */
async function disallow(tx: Queryable, { companyId, domain }: DomainRow): Promise<boolean> {
  const rows = await sql(tx, 'disallow-domain')`
    update companies set from_domains = array_remove(from_domains, ${domain}), updated_at = now()
     where company_id = ${companyId} and (default_from is null or split_part(rtrim(default_from, '>'), '@', -1) <> ${domain})
     returning 1 as one`
  return rows.length > 0
}

const lockDomainName = (tx: Queryable, domain: string) =>
  sql(tx, 'lock-domain-name')`select pg_advisory_xact_lock(hashtext('domains.domain'), hashtext(${domain}))`

type Change = { before?: Record<string, unknown>; after?: Record<string, unknown> }

type Action = 'DOMAIN_ADDED' | 'DOMAIN_VERIFIED' | 'DOMAIN_REMOVED'

function audit(tx: Queryable, row: DomainRow, action: Action, author: Author, change: Change): Promise<void> {
  const { companyId, domainId: subjectId } = row
  return writeAudit(tx, { ...author, action, subjectType: 'domain', subjectId, companyId, ...change })
}

type PendingDomain = { companyId: string; domainId: string }
type PendingRules = { most: number; passSeconds: number; leastSeconds: number; giveUpHours: number }

/**
 * Domains that are not verified and due for a look: after a quarter of their age, and `leastSeconds` at least. They count as looked
 * at from here on. Of several processes one gets them, and none within `passSeconds` of the last pass.
 */
export async function takePendingDomains(pool: pg.Pool, rules: PendingRules): Promise<PendingDomain[]> {
  return inTransaction(pool, async tx => {
    const [lock] = await sql<{ taken: boolean }>(tx, 'lock-domain-checks')`
      select pg_try_advisory_xact_lock(hashtext('domains.checked_at')) as taken`
    if (!lock!.taken) return []
    return sql<PendingDomain>(tx, 'take-pending-domains')`
      with due as (
         select domain_id from domains, lateral (select coalesce(checked_at, created_at) as looked_at) l
         where verified_at is null and created_at > now() - make_interval(hours => ${rules.giveUpHours})
           and looked_at + greatest(make_interval(secs => ${rules.leastSeconds}), (looked_at - created_at) / 4) <= now()
           and not exists (select from domains where checked_at > now() - make_interval(secs => ${rules.passSeconds}))
         order by looked_at limit ${rules.most}
       )
       update domains d set checked_at = now() from due where d.domain_id = due.domain_id
       returning d.company_id, d.domain_id`
  })
}

type DomainCalls = { calls: number; retryAfterSeconds: number }

/** Counts one more call of this minute, up to one above the limit. The minute begins with its first call. */
export async function countDomainCall(db: Queryable, companyId: string, limit: number): Promise<DomainCalls> {
  const [row] = await sql<DomainCalls>(db, 'count-domain-call')`
    insert into domain_calls as c (company_id) values (${companyId})
     on conflict (company_id) do update set
       calls = case when c.since between now() - interval '1 minute' and now() then least(c.calls + 1, ${limit} + 1) else 1 end,
       since = case when c.since between now() - interval '1 minute' and now() then c.since else now() end
     returning calls, ceil(extract(epoch from since + interval '1 minute' - now()))::int as "retryAfterSeconds"`
  return row!
}
