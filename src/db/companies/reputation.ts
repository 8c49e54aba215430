import { REPUTATION_LIMITS } from '../../contracts/reputation.ts'
import { iso, type Queryable, run } from '../query.ts'

export type ReputationCount = { companyId: string; sent?: number; bounced?: number; complained?: number }

/** Adds to the current hour. Ordered by id, so that two processes cannot deadlock. */
export async function addToReputation(db: Queryable, counts: ReputationCount[]): Promise<void> {
  if (counts.length === 0) return
  await run(
    db,
    'add-to-reputation',
    `insert into statistics as s (company_id, step, at, reputation_sent, reputation_bounced, reputation_complained)
     select c.company_id, 'hour', date_trunc('hour', now()), sum(coalesce(x.sent, 0)), sum(coalesce(x.bounced, 0)), sum(coalesce(x.complained, 0))
     from json_to_recordset($1::json) as x("companyId" uuid, sent bigint, bounced bigint, complained bigint)
     join companies c on c.company_id = x."companyId" group by c.company_id order by c.company_id
     on conflict (company_id, template_type, step, at) do update
       set reputation_sent = s.reputation_sent + excluded.reputation_sent, reputation_bounced = s.reputation_bounced + excluded.reputation_bounced,
         reputation_complained = s.reputation_complained + excluded.reputation_complained`,
    [JSON.stringify(counts)],
  )
}

/** What each company sent within the window, and what came of it: `company_id, sent, bounced, complained`. */
const FIGURES = `select company_id, sum(reputation_sent)::float8 as sent, sum(reputation_bounced)::float8 as bounced,
    sum(reputation_complained)::float8 as complained
  from statistics where template_type = '' and step = 'hour' and at > now() - $1 * interval '1 hour' group by company_id`

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
    `with figures as materialized (${FIGURES})
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

/** The figures restart at zero. Rows are locked in the order of the roll-up, which adds to several of a company, too. */
export async function resetReputation(tx: Queryable, companyId: string): Promise<void> {
  await run(
    tx,
    'reset-reputation',
    `with counted as materialized (
       select at from statistics where company_id = $1 and template_type = '' and step = 'hour' and at > now() - $2 * interval '1 hour'
       order by at for update
     ), reset as (
       update statistics s set reputation_sent = 0, reputation_bounced = 0, reputation_complained = 0 from counted
       where s.company_id = $1 and s.template_type = '' and s.step = 'hour' and s.at = counted.at
     )
     update companies set reputation_since = now(), warned_at = null, warn_reason = null where company_id = $1`,
    [companyId, REPUTATION_LIMITS.windowHours],
  )
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
     from companies c left join (${FIGURES}) f using (company_id)
     order by c.name`,
    [REPUTATION_LIMITS.windowHours],
  )
}
