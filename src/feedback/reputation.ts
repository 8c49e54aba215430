import type pg from 'pg'
import type { Logger } from 'pino'
import { maskSensitive } from '../contracts/masking.ts'
import { decideReputation, rateOf } from '../contracts/reputation.ts'
import { auditCompany } from '../db/companies/audit.ts'
import { isPausedBy, pauseCompany, resumeCompany } from '../db/companies/companies.ts'
import {
  type CompanyFigures,
  endWarning,
  lockCompaniesToReview,
  resetReputation,
  warnCompany,
} from '../db/companies/reputation.ts'
import { inTransaction, type Queryable } from '../db/query.ts'
import { putCompanyNotice } from '../db/webhooks/enqueue.ts'

/** Recorded as the one who acted when the gateway itself warns or pauses. */
export const BY_REPUTATION = 'reputation'

/** Warns and pauses companies whose bounces or complaints pass the limits. Returns how many steps were taken. */
export async function warnOrPauseCompanies(pool: pg.Pool, log: Logger): Promise<number> {
  return inTransaction(pool, async tx => {
    let taken = 0
    for (const company of await lockCompaniesToReview(tx)) {
      const { steps, reason } = decideReputation(company)
      for (const step of steps) {
        if (step === 'warn') await warn(tx, company, reason, log)
        if (step === 'pause') await pause(tx, company, reason, log)
        if (step === 'end-warning') await endWarningOf(tx, company, log)
        taken++
      }
    }
    return taken
  })
}

async function warn(tx: Queryable, company: CompanyFigures, reason: string, log: Logger): Promise<void> {
  const { companyId } = company
  const data = figuresOf(company)
  await warnCompany(tx, companyId, reason)
  await auditCompany(tx, { companyId, action: 'WARNED', reason, performedBy: BY_REPUTATION, metadata: data })
  await putCompanyNotice(tx, { companyId, type: 'company.warned', data: { companyId, reason, ...data } })
  log.warn({ companyId, reason, ...data }, 'A company endangers the reputation of the sender: warned')
}

async function pause(tx: Queryable, company: CompanyFigures, reason: string, log: Logger): Promise<void> {
  const { companyId } = company
  const data = figuresOf(company)
  await pauseCompany(tx, companyId, reason, BY_REPUTATION)
  await auditCompany(tx, { companyId, action: 'PAUSED', reason, performedBy: BY_REPUTATION, metadata: data })
  await putCompanyNotice(tx, { companyId, type: 'company.paused', data: { companyId, reason, ...data } })
  log.error({ companyId, reason, ...data }, 'A company endangers the reputation of the sender: paused')
}

async function endWarningOf(tx: Queryable, { companyId }: CompanyFigures, log: Logger): Promise<void> {
  const reason = 'Bounces and complaints are below half of the limits again'
  await endWarning(tx, companyId)
  await auditCompany(tx, { companyId, action: 'WARNING_ENDED', reason, performedBy: BY_REPUTATION })
  log.info({ companyId }, 'A company is in good standing again')
}

function figuresOf({ sent, bounced, complained }: CompanyFigures) {
  return { sent, bounced, complained, bounceRate: rateOf(bounced, sent), complaintRate: rateOf(complained, sent) }
}

/** By an administrator. The typed reason may name a person: it is stored masked. */
export type ManualChange = { companyId: string; reason: string; performedBy: string }

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
