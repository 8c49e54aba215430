import type { BulkCounts } from '../contracts/bulk-actions.ts'
import type { BulkPosition } from '../db/bulk/batches.ts'

/** One commit each, so that nobody waits long for a lock and a crash loses little. */
export const BATCH_SIZE = 200

/** later: everything that is left is held by somebody else at this moment. */
export type Batch = { counts: BulkCounts; position: BulkPosition; next: 'more' | 'later' | 'end' }
