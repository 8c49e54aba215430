import { writeAudit } from '../db/audit.ts'
import type { Queryable } from '../db/query.ts'
import type { filterOf } from './dlq-filter.ts'
import { operator } from './operator.ts'

type Selection = { ids: string[] } | { filter: Awaited<ReturnType<typeof filterOf>>; limit?: number | undefined }

/** A filter is written before the first batch, ids in the transaction of each batch: a command that is killed has its entries, too. */
export async function auditDeadLetters(db: Queryable, action: 'REPLAYED' | 'PURGED', given: Selection): Promise<void> {
  const base = { performedBy: operator(), action: `DEAD_LETTERS_${action}` as const }
  if ('ids' in given) {
    for (const subjectId of given.ids) await writeAudit(db, { ...base, subjectType: 'email', subjectId })
    return
  }
  const { companyId, ...rest } = given.filter
  const limit = Number.isFinite(given.limit) ? given.limit : undefined
  await writeAudit(db, {
    ...base,
    subjectType: 'dead_letters',
    subjectId: companyId ?? 'all',
    companyId: companyId ?? null,
    after: { ...rest, ...(limit !== undefined && { limit }) },
  })
}
