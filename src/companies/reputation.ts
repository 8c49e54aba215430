import type pg from 'pg'
import type { Logger } from 'pino'
import { z } from 'zod'
import { inTransaction, iso, type Queryable, run, sql } from '../platform/postgres/query.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { putCompanyNotice } from '../webhooks/enqueue.ts'
import { auditCompany } from './changes.ts'
import { isPausedBy, pauseCompany, resumeCompany } from './companies.ts'

/** Recorded as the one who acted when the gateway itself warns or pauses. */
export const BY_REPUTATION = 'reputation'

/** Warns and pauses companies whose bounces or complaints pass the limits. Returns how many steps were taken. */
export async function warnOrPauseCompanies(pool: pg.Pool, log: Logger): Promise<number> {
  return inTransaction(pool, async tx => {
    let taken = 0
    for (const company of await lockCompaniesToReview(tx)) {
      const { steps, reason } = decideReputation(company)
      for (const step of steps) await take(tx, step, company, reason, log)
      taken += steps.length
    }
    return taken
  })
}

async function take(tx: Queryable, step: ReputationStep, company: CompanyFigures, reason: string, log: Logger) {
  const { companyId } = company
  if (step === 'end-warning') {
    await sql(tx, 'end-warning')`
      update companies set warned_at = null, warn_reason = null, updated_at = now() where company_id = ${companyId}`
    const why = 'Bounces and complaints are below half of the limits again'
    await auditCompany(tx, { companyId, action: 'WARNING_ENDED', reason: why, performedBy: BY_REPUTATION })
    log.info({ companyId }, 'A company is in good standing again')
    return
  }
  const figures = figuresOf(company)
  if (step === 'pause') await pauseCompany(tx, companyId, reason, BY_REPUTATION)
  else
    await sql(tx, 'warn-company')`
      update companies set warned_at = now(), warn_reason = ${reason}, updated_at = now() where company_id = ${companyId}`
  const [action, type, level, done] =
    step === 'pause'
      ? (['PAUSED', 'company.paused', 'error', 'paused'] as const)
      : (['WARNED', 'company.warned', 'warn', 'warned'] as const)
  await auditCompany(tx, { companyId, action, reason, performedBy: BY_REPUTATION, after: figures })
  await putCompanyNotice(tx, { companyId, type, data: { companyId, reason, ...figures } })
  log[level]({ companyId, reason, ...figures }, `A company endangers the reputation of the sender: ${done}`)
}

function figuresOf({ sent, bounced, complained }: CompanyFigures) {
  return { sent, bounced, complained, bounceRate: rateOf(bounced, sent), complaintRate: rateOf(complained, sent) }
}

/** By an administrator. The typed reason may name a person: it is stored masked. */
type ManualChange = { companyId: string; reason: string; performedBy: string }

/** false: there is no such company, or its reputation has paused it: another reason must not hide that one. */
export async function pauseManually(
  pool: pg.Pool,
  { companyId, reason: typed, performedBy }: ManualChange,
): Promise<boolean> {
  const reason = maskSensitive(typed)
  return inTransaction(pool, async tx => {
    if ((await isPausedBy(tx, companyId, BY_REPUTATION)) || !(await pauseCompany(tx, companyId, reason, performedBy)))
      return false
    await auditCompany(tx, { companyId, action: 'PAUSED', reason, performedBy })
    return true
  })
}

/** The figures start from zero: with the old ones it would be paused again at once. false: it was not paused. */
export async function resumeManually(
  pool: pg.Pool,
  { companyId, reason: typed, performedBy }: ManualChange,
): Promise<boolean> {
  const reason = maskSensitive(typed)
  return inTransaction(pool, async tx => {
    if (!(await resumeCompany(tx, companyId))) return false
    await resetReputation(tx, companyId)
    await auditCompany(tx, { companyId, action: 'RESUMED', reason, performedBy })
    return true
  })
}

/**
 * Above these rates a company endangers the sending reputation of all companies; see docs/provider-events.md. `pauseAt` is the
 * rate at which Amazon SES itself stops an account. The minimums keep small samples from counting.
 */
export const REPUTATION_LIMITS = {
  windowHours: 24,
  /** A company that is still above the limit so long after its warning is paused. */
  graceMinutes: 60,
  bounce: { warnAt: 0.05, pauseAt: 0.1, minSent: 100, minEvents: 5 },
  complaint: { warnAt: 0.001, pauseAt: 0.005, minSent: 100, minEvents: 3 },
} as const

/** Recipients within the window. */
type ReputationCounts = { sent: number; bounced: number; complained: number }

type ReputationLevel =
  /** Below half of every limit: good enough to end a warning. */
  { kind: 'good' } | { kind: 'between' } | { kind: 'above'; severe: boolean; reason: string }

/** `bounced` counts permanent bounces only. */
export function assessReputation({ sent, bounced, complained }: ReputationCounts): ReputationLevel {
  const { bounce, complaint, windowHours } = REPUTATION_LIMITS
  const found = [
    { ...bounce, events: bounced, what: 'bounced for good' },
    { ...complaint, events: complained, what: 'complained' },
  ].map(one => ({ ...one, rate: rateOf(one.events, sent) }))
  const above = found.filter(one => sent >= one.minSent && one.events >= one.minEvents && one.rate >= one.warnAt)
  if (above.length > 0) {
    // The admin UI recognises this form to translate it (admin/src/lib/reputation-reason.ts).
    const sentences = above.map(
      one =>
        `${percent(one.rate)} ${one.what} (${one.events} of ${sent} recipients in ${windowHours} hours, the limit is ${percent(one.warnAt)})`,
    )
    return { kind: 'above', severe: above.some(one => one.rate >= one.pauseAt), reason: sentences.join('; ') }
  }
  return found.every(one => one.rate < one.warnAt / 2) ? { kind: 'good' } : { kind: 'between' }
}

type CompanyReputation = ReputationCounts & {
  /** Minutes since the warning; null without one. */
  warnedMinutes: number | null
  paused: boolean
}

type ReputationStep = 'warn' | 'pause' | 'end-warning'

/** Warns first; pauses at once if severe, or later if the warning did not help. Only administrators resume a company. */
export function decideReputation(company: CompanyReputation): { steps: ReputationStep[]; reason: string } {
  const level = assessReputation(company)
  if (level.kind !== 'above')
    return { steps: level.kind === 'good' && company.warnedMinutes !== null ? ['end-warning'] : [], reason: '' }
  const { severe, reason } = level
  const steps: ReputationStep[] = company.warnedMinutes === null ? ['warn'] : []
  const overdue = company.warnedMinutes !== null && company.warnedMinutes >= REPUTATION_LIMITS.graceMinutes
  if (!company.paused && (severe || overdue)) steps.push('pause')
  return { steps, reason }
}

export const rateOf = (events: number, sent: number) =>
  sent === 0 ? (events === 0 ? 0 : 1) : Math.min(1, events / sent)

const percent = (rate: number) => `${(rate * 100).toFixed(rate < 0.01 ? 2 : 1)} %`

type ReputationCount = { companyId: string; sent?: number; bounced?: number; complained?: number }

/** Adds to the current hour. Ordered by id, so that two processes cannot deadlock. */
export async function addToReputation(db: Queryable, counts: ReputationCount[]): Promise<void> {
  if (counts.length === 0) return
  await sql(db, 'add-to-reputation')`
    insert into statistics as s (company_id, step, at, reputation_sent, reputation_bounced, reputation_complained)
     select c.company_id, 'hour', date_trunc('hour', now()), sum(coalesce(x.sent, 0)), sum(coalesce(x.bounced, 0)), sum(coalesce(x.complained, 0))
     from json_to_recordset(${JSON.stringify(counts)}::json) as x("companyId" uuid, sent bigint, bounced bigint, complained bigint)
     join companies c on c.company_id = x."companyId" group by c.company_id order by c.company_id
     on conflict (company_id, template_type, step, at) do update
       set reputation_sent = s.reputation_sent + excluded.reputation_sent, reputation_bounced = s.reputation_bounced + excluded.reputation_bounced,
         reputation_complained = s.reputation_complained + excluded.reputation_complained`
}

/** What each company sent within the window, and what came of it: `company_id, sent, bounced, complained`. */
const FIGURES = `select company_id, sum(reputation_sent)::float8 as sent, sum(reputation_bounced)::float8 as bounced,
    sum(reputation_complained)::float8 as complained
  from statistics where template_type = '' and step = 'hour' and at > now() - $1 * interval '1 hour' group by company_id`

type CompanyFigures = {
  companyId: string
  name: string
  sent: number
  bounced: number
  complained: number
  warnedMinutes: number | null
  paused: boolean
}

/** Companies with a bounce or complaint in the window, or with a warning. Locked, so that two processes do not both warn. */
async function lockCompaniesToReview(tx: Queryable): Promise<CompanyFigures[]> {
  return run<CompanyFigures>(
    tx,
    'lock-companies-to-review',
    `with figures as materialized (${FIGURES})
     select c.company_id, c.name, coalesce(f.sent, 0) as sent, coalesce(f.bounced, 0) as bounced,
       coalesce(f.complained, 0) as complained, c.paused_at is not null as paused,
       (extract(epoch from now() - c.warned_at) / 60)::float8 as "warnedMinutes"
     from companies c left join figures f using (company_id)
     where f.bounced > 0 or f.complained > 0 or c.warned_at is not null
     order by c.company_id for no key update of c skip locked`,
    [REPUTATION_LIMITS.windowHours],
  )
}

/** The figures restart at zero. Rows are locked in the order of the roll-up, which adds to several of a company, too. */
async function resetReputation(tx: Queryable, companyId: string): Promise<void> {
  await sql(tx, 'reset-reputation')`
    with counted as materialized (
       select at from statistics where company_id = ${companyId} and template_type = '' and step = 'hour' and at > now() - ${REPUTATION_LIMITS.windowHours} * interval '1 hour'
       order by at for update
     ), reset as (
       update statistics s set reputation_sent = 0, reputation_bounced = 0, reputation_complained = 0 from counted
       where s.company_id = ${companyId} and s.template_type = '' and s.step = 'hour' and s.at = counted.at
     )
     update companies set reputation_since = now(), warned_at = null, warn_reason = null where company_id = ${companyId}`
}

const instant = z.iso.datetime().nullable()
export const companyStandingSchema = z
  .object({
    companyId: z.uuid(),
    name: z.string(),
    state: z.enum(['active', 'warned', 'paused']),
    sent: z.number().describe('Recipients of the last 24 hours, or since the company was resumed'),
    bounced: z.number().describe('Permanent bounces among them'),
    complained: z.number(),
    bounceRate: z.number(),
    complaintRate: z.number(),
    accepted: z.int().describe('E-mails of the last 24 hours, from the beginning of an hour'),
    waiting: z.int().describe('E-mails that could be sent now; counted up to 1000'),
    oldestWaitingSeconds: z.number().nullable(),
    isDefault: z.boolean().describe('E-mails that come by SQL without a company are its own'),
    weight: z.int(),
    ratePerSecond: z.number().nullable(),
    warnedAt: instant,
    warnReason: z.string().nullable(),
    pausedAt: instant,
    pauseReason: z.string().nullable(),
    pausedBy: z.string().nullable().describe('`reputation`, or who paused it'),
    webhooks: z.object({
      enabled: z.int(),
      failing: z.int().describe('Enabled, and nothing taken since an attempt failed'),
      disabled: z
        .array(z.object({ webhookId: z.uuid(), reason: z.enum(['GONE', 'FAILING']), disabledAt: z.iso.datetime() }))
        .describe('By the gateway, for what they answered; the last one first'),
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'CompanyStanding' })
export type CompanyStandingRow = Omit<
  z.output<typeof companyStandingSchema>,
  'state' | 'bounceRate' | 'complaintRate' | 'accepted' | 'waiting' | 'oldestWaitingSeconds' | 'webhooks'
>

export async function listStandings(db: Queryable): Promise<CompanyStandingRow[]> {
  return run<CompanyStandingRow>(
    db,
    'list-standings',
    `select c.company_id, c.name, coalesce(f.sent, 0) as sent, coalesce(f.bounced, 0) as bounced,
       coalesce(f.complained, 0) as complained, ${iso('c.warned_at')} as "warnedAt", c.warn_reason,
       ${iso('c.paused_at')} as "pausedAt", c.pause_reason, c.paused_by, ${iso('c.created_at')} as "createdAt",
       c.is_default, c.weight, c.rate_per_second
     from companies c left join (${FIGURES}) f using (company_id)
     order by c.name`,
    [REPUTATION_LIMITS.windowHours],
  )
}
