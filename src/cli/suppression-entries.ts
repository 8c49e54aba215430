import { suppressionPolicy } from '../config.ts'
import type { SuppressionRow } from '../contracts/suppression/view.ts'
import { companyNames } from '../db/companies/companies.ts'
import { removeSuppression } from '../db/suppression/ends.ts'
import { addSuppressions } from '../db/suppression/list.ts'
import { findEntries, listAudit } from '../db/suppression/reads.ts'
import { CommandFailed, reading, writing } from './command.ts'
import {
  auditFields,
  daysOf,
  hashOf,
  listOfCompany,
  reasonOf,
  type SuppressionAction,
} from './suppression-arguments.ts'

export const check: SuppressionAction = {
  options: [],
  prepare(values, word) {
    const emailHash = hashOf(word)
    return reading(async opened => {
      const companyId = await listOfCompany(opened, values)
      const all = await findEntries(opened.db.pool, emailHash)
      const entries = all.filter(
        entry => companyId === null || entry.companyId === null || entry.companyId === companyId,
      )
      const auditLog = await listAudit(opened.db.pool, emailHash, companyId)
      const suppressed = entries.length > 0
      const history = auditLog.map(
        one =>
          `${one.performedAt}  ${one.action}  ${one.reason}  by ${one.performedBy}${one.justification ? `: ${one.justification}` : ''}`,
      )
      const names = await companyNames(
        opened.db.pool,
        entries.flatMap(entry => entry.companyId ?? []),
      )
      const lines = suppressed ? entries.map(entry => entryLine(entry, names)) : [`${emailHash} is not suppressed.`]
      return { json: { emailHash, suppressed, entries, auditLog }, lines: [...lines, ...history] }
    })
  },
}

function entryLine(
  { emailHash, reason, addedAt, expiresAt, companyId }: SuppressionRow,
  names: Map<string, string>,
): string {
  const list = companyId ? `company ${names.get(companyId) ?? ''} (${companyId})` : 'all companies'
  return `${emailHash} is suppressed for ${list}: ${reason}, since ${addedAt}, ${expiresAt ? `until ${expiresAt}` : 'for ever'}`
}

export const add: SuppressionAction = {
  options: ['justification', 'reason', 'days', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const reason = reasonOf(values) ?? 'MANUAL'
    const { performedBy, justification } = auditFields(values)
    const days = daysOf(values)
    return writing(async opened => {
      const companyId = await listOfCompany(opened, values)
      const expiresInDays = days ?? suppressionPolicy(opened.config).ttlDays[reason]
      const entry = { companyId, emailHash, reason, expiresInDays, metadata: {}, performedBy, justification }
      const [outcome] = await addSuppressions(opened.db.pool, [entry])
      const now = (await findEntries(opened.db.pool, emailHash)).find(one => one.companyId === companyId)
      const json = { emailHash, outcome: outcome!.outcome, reason: now?.reason, expiresAt: now?.expiresAt }
      return {
        json,
        lines: [
          ...(outcome!.outcome === 'unchanged' ? ['It was listed already.'] : []),
          ...(now ? [entryLine(now, await companyNames(opened.db.pool, companyId ? [companyId] : []))] : []),
        ],
      }
    })
  },
}

export const remove: SuppressionAction = {
  options: ['justification', 'by'],
  prepare(values, word) {
    const emailHash = hashOf(word)
    const audit = auditFields(values)
    return writing(async opened => {
      const lists = [await listOfCompany(opened, values)]
      const outcome = await removeSuppression(opened.db.pool, { emailHash, lists, ...audit })
      if (outcome.kind === 'complaint')
        throw new CommandFailed('Cannot remove complaint suppressions (LGPD compliance).', 'COMPLAINT_NOT_REMOVABLE')
      if (outcome.kind === 'not-listed') throw new CommandFailed(`${emailHash} is not on that list.`, 'NOT_SUPPRESSED')
      const json = { removed: true, emailHash, removedBy: audit.performedBy, removedAt: outcome.removedAt }
      return { json, lines: [`Removed ${emailHash}`] }
    })
  },
}
