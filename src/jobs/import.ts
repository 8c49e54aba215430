import type { Queryable } from '../platform/postgres/query.ts'
import { addSuppressions } from '../suppression/list.ts'
import type { SuppressionReason } from '../suppression/rules.ts'
import { BATCH_SIZE, type Batch, deleteItems, listItems, type OpenBulkAction } from './stored.ts'
import type { BulkCounts } from './view.ts'

/** A line of the file, ready to be written: no address, and the lifetime as it was configured when the import was asked for. */
export type ImportItem = {
  companyId: string | null
  emailHash: string
  reason: SuppressionReason
  expiresInDays: number
  expiresAt?: string
}

export async function importBatch(tx: Queryable, actionId: string, action: OpenBulkAction): Promise<Batch> {
  const items = await listItems<ImportItem>(tx, actionId, BATCH_SIZE)
  if (items.length === 0) return { counts: {}, position: {}, next: 'end' }
  await deleteItems(
    tx,
    actionId,
    items.map(one => one.ordinal),
  )
  const { requestedBy: performedBy, reason: justification } = action
  const entries = items.map(({ item }) => ({ ...item, metadata: {}, performedBy, justification }))
  const counts: BulkCounts = {}
  for (const { outcome } of await addSuppressions(tx, entries)) counts[outcome] = (counts[outcome] ?? 0) + 1
  return { counts, position: {}, next: 'more' }
}
