import { REPUTATION_LIMITS } from '../../contracts/reputation.ts'
import { iso, type Queryable, run } from '../query.ts'

export type ReputationCount = { companyId: string; sent?: number; bounced?: number; complained?: number }

/** Adds to the current hour. Ordered by id, so that two processes cannot deadlock. */
export async function addToReputation(db: Queryable, counts: ReputationCount[]): Promise<void> {
  if (counts.length === 0) return
  await run(
    db,
    'add-to-reputation',
    `insert into company_reputation as r (company_id, hour, sent, bounced, complained)
     select c.company_id, date_trunc('hour', now()), sum(coalesce(x.sent, 0)), sum(coalesce(x.bounced, 0)), sum(coalesce(x.complained, 0))
     from json_to_recordset($1::json) as x("companyId" uuid, sent bigint, bounced bigint, complained bigint)
     join companies c on c.company_id = x."companyId" group by c.company_id order by c.company_id
     on conflict (company_id, hour) do update
       set sent = r.sent + excluded.sent, bounced = r.bounced + excluded.bounced, complained = r.complained + excluded.complained`,
    [JSON.stringify(counts)],
  )
}

export type CompanyFigures = {
  companyId: string
  name: string
  sent: number
  bounced: number
  complained: number
  warnedMinutes: number | null
  paused: boolean
}

/** Companies with a bounce or complaint in the window, or with a warning. Locked, so that two processes do not both warn. */
export async function lockCompaniesToReview(tx: Queryable): Promise<CompanyFigures[]> {
  return run<CompanyFigures>(
    tx,
    'lock-companies-to-review',
    `with figures as materialized (
       select company_id, sum(sent)::float8 as sent, sum(bounced)::float8 as bounced, sum(complained)::float8 as complained
       from company_reputation where hour > now() - $1 * interval '1 hour' group by company_id
     )
     select c.company_id as "companyId", c.name, coalesce(f.sent, 0) as sent, coalesce(f.bounced, 0) as bounced,
       coalesce(f.complained, 0) as complained, c.paused_at is not null as paused,
       (extract(epoch from now() - c.warned_at) / 60)::float8 as "warnedMinutes"
     from companies c left join figures f using (company_id)
     where f.bounced > 0 or f.complained > 0 or c.warned_at is not null
     order by c.company_id for no key update of c skip locked`,
    [REPUTATION_LIMITS.windowHours],
  )
}

export async function warnCompany(tx: Queryable, companyId: string, reason: string): Promise<void> {
  await run(
    tx,
    'warn-company',
    `update companies set warned_at = now(), warn_reason = $2, updated_at = now() where company_id = $1`,
    [companyId, reason],
  )
}

export async function endWarning(tx: Queryable, companyId: string): Promise<void> {
  await run(
    tx,
    'end-warning',
    `update companies set warned_at = null, warn_reason = null, updated_at = now() where company_id = $1`,
    [companyId],
  )
}

/** The figures restart at zero. */
export async function resetReputation(tx: Queryable, companyId: string): Promise<void> {
  await run(
    tx,
    'reset-reputation',
    `with deleted as (delete from company_reputation where company_id = $1)
     update companies set reputation_since = now(), warned_at = null, warn_reason = null where company_id = $1`,
    [companyId],
  )
}

/** In one statement, because there is only one row per company and hour. */
export async function purgeReputation(db: Queryable): Promise<void> {
  await run(db, 'purge-reputation', `delete from company_reputation where hour < now() - 2 * $1 * interval '1 hour'`, [
    REPUTATION_LIMITS.windowHours,
  ])
}

export type CompanyStandingRow = {
  companyId: string
  name: string
  sent: number
  bounced: number
  complained: number
  warnedAt: string | null
  warnReason: string | null
  pausedAt: string | null
  pauseReason: string | null
  pausedBy: string | null
  isDefault: boolean
  weight: number
  ratePerSecond: number | null
  createdAt: string
}

export async function listStandings(db: Queryable): Promise<CompanyStandingRow[]> {
  return run<CompanyStandingRow>(
    db,
    'list-standings',
    `select c.company_id as "companyId", c.name, coalesce(f.sent, 0) as sent, coalesce(f.bounced, 0) as bounced,
       coalesce(f.complained, 0) as complained, ${iso('c.warned_at')} as "warnedAt", c.warn_reason as "warnReason",
       ${iso('c.paused_at')} as "pausedAt", c.pause_reason as "pauseReason", c.paused_by as "pausedBy", ${iso('c.created_at')} as "createdAt",
       c.is_default as "isDefault", c.weight, c.rate_per_second as "ratePerSecond"
     from companies c left join (
       select company_id, sum(sent)::float8 as sent, sum(bounced)::float8 as bounced, sum(complained)::float8 as complained
       from company_reputation where hour > now() - $1 * interval '1 hour' group by company_id) f using (company_id)
     order by c.name`,
    [REPUTATION_LIMITS.windowHours],
  )
}
