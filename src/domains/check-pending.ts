import type { Logger } from 'pino'
import { takePendingDomains } from '../db/companies/domain-checks.ts'
import { findDomain } from '../db/companies/domains.ts'
import { AwsCallFailed } from '../providers/aws/call.ts'
import { ProviderDomainsFailed } from '../providers/domains/domains.ts'
import { checkDomain, type DomainDeps } from './domains.ts'

/** How often housekeeping begins a pass. */
export const CHECK_DOMAINS_EVERY_MS = 120_000

const RULES = {
  most: 20,
  // A little less than between two passes, so that the next one of the same process is not left out.
  passSeconds: 100,
  leastSeconds: 300,
  // As Amazon SES does.
  giveUpHours: 72,
}

/** A stop waits for the pass: it begins no further look after this time. What it has left out is due again soon. */
const PASS_MS = 10_000

/** Looks whether domains are verified now, so that nobody has to ask for it. Returns how many were looked at. */
export async function checkPendingDomains(deps: DomainDeps, log: Logger): Promise<number> {
  const pending = await takePendingDomains(deps.db.pool, RULES)
  const endMs = performance.now() + PASS_MS
  const failed: { domain: string; reason: string }[] = []
  for (const { companyId, domainId } of pending) {
    if (performance.now() > endMs) break
    const row = await findDomain(deps.db.pool, companyId, domainId)
    if (!row) continue
    const { domain } = row
    try {
      const checked = await checkDomain(deps, row, { performedBy: 'system' })
      if (checked.kind === 'checked' && checked.state.row.verifiedAt !== null)
        log.info({ companyId, domain }, `The domain ${domain} is verified; its company may send from it`)
    } catch (error) {
      if (!(error instanceof AwsCallFailed) && !(error instanceof ProviderDomainsFailed)) throw error
      failed.push({ domain, reason: error.message })
    }
  }
  if (failed.length > 0) log.warn({ failed }, 'A provider could not be asked about sender domains; asked again later')
  return pending.length
}
