import type pg from 'pg'
import { type Author, writeAudit } from '../audit/audit.ts'
import { lockCompanies } from '../companies/companies.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { inTransaction, type Queryable, run } from '../platform/postgres/query.ts'

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

const COLUMNS = `d.domain_id as "domainId", d.company_id as "companyId", c.name as "companyName", d.domain,
  d.ownership_token as "ownershipToken", d.created_at_providers as "createdAtProviders", d.verified_at as "verifiedAt",
  d.domain = any(c.from_domains) as allowed, d.created_at as "createdAt"`
const FROM = 'domains d join companies c using (company_id)'

/** Newest first. `companyId` null: of all companies. */
export async function listDomains(db: Queryable, companyId: string | null): Promise<DomainRow[]> {
  return run<DomainRow>(
    db,
    'list-domains',
    `select ${COLUMNS} from ${FROM} where $1::uuid is null or company_id = $1 order by d.created_at desc, d.domain_id`,
    [companyId],
  )
}

/** By its id or its name. */
export async function findDomain(db: Queryable, companyId: string, idOrName: string): Promise<DomainRow | null> {
  const [row] = await run<DomainRow>(
    db,
    'find-domain',
    `select ${COLUMNS} from ${FROM} where company_id = $1 and (d.domain_id::text = $2 or d.domain = $2)`,
    [companyId, idOrName],
  )
  return row ?? null
}

/** Another company that may send from the domain. */
export async function findOtherOwner(db: Queryable, domain: string, companyId: string): Promise<string | null> {
  const [row] = await run<{ name: string }>(
    db,
    'find-other-owner',
    `select name from companies where company_id <> $2 and $1 = any(from_domains) order by name limit 1`,
    [domain, companyId],
  )
  return row?.name ?? null
}

export type NewDomain = { companyId: string; domain: string; ownershipToken: string | null }

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
    await run(
      tx,
      'add-domain',
      `insert into domains (domain_id, company_id, domain, ownership_token) values ($1, $2, $3, $4)
       on conflict (company_id, domain) do update set ownership_token = excluded.ownership_token,
         verified_at = case when $5 then domains.verified_at end`,
      [clock.newId(), companyId, domain, ownershipToken, before?.allowed ?? false],
    )
    const row = (await findDomain(tx, companyId, domain))!
    await audit(tx, row, 'DOMAIN_ADDED', author, { after: { domain, provesOwnership: ownershipToken !== null } })
    return row
  })
}

/** Added by an administrator, and not taken from the company since. */
const isVouched = ({ ownershipToken, verifiedAt, allowed }: DomainRow) =>
  ownershipToken === null && (verifiedAt === null || allowed)

export async function recordCreatedAt(db: Queryable, domainId: string, provider: string): Promise<void> {
  await run(
    db,
    'record-domain-created-at',
    `update domains set created_at_providers = array_append(created_at_providers, $2)
     where domain_id = $1 and not $2 = any(created_at_providers)`,
    [domainId, provider],
  )
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
    await run(
      tx,
      'allow-domain',
      `update companies set from_domains = array_append(from_domains, $2), updated_at = now()
       where company_id = $1 and not $2 = any(from_domains)`,
      [row.companyId, row.domain],
    )
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
    await run(tx, 'remove-domain', `delete from domains where domain_id = $1`, [row.domainId])
    await audit(tx, row, 'DOMAIN_REMOVED', author, { before: { domain: row.domain } })
    const others = await run(
      tx,
      'find-domain-users',
      `select 1 as one from domains where domain = $1 union all select 1 from companies where $1 = any(from_domains) limit 1`,
      [row.domain],
    )
    return { kind: 'removed', shared: others.length > 0 }
  })
}

/** false: the company's default sender is of this domain. */
async function disallow(tx: Queryable, { companyId, domain }: DomainRow): Promise<boolean> {
  const rows = await run(
    tx,
    'disallow-domain',
    `update companies set from_domains = array_remove(from_domains, $2), updated_at = now()
     where company_id = $1 and (default_from is null or split_part(rtrim(default_from, '>'), '@', -1) <> $2)
     returning 1 as one`,
    [companyId, domain],
  )
  return rows.length > 0
}

const lockDomainName = (tx: Queryable, domain: string) =>
  run(tx, 'lock-domain-name', `select pg_advisory_xact_lock(hashtext('domains.domain'), hashtext($1))`, [domain])

type Change = { before?: Record<string, unknown>; after?: Record<string, unknown> }

type Action = 'DOMAIN_ADDED' | 'DOMAIN_VERIFIED' | 'DOMAIN_REMOVED'

function audit(tx: Queryable, row: DomainRow, action: Action, author: Author, change: Change): Promise<void> {
  const { companyId, domainId: subjectId } = row
  return writeAudit(tx, { ...author, action, subjectType: 'domain', subjectId, companyId, ...change })
}

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
