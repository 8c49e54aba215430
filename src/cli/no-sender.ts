import type { Queryable } from '../db/query.ts'
import { countWorkers } from '../db/workers.ts'

/** What to add to "Queued" when nothing would send it now. */
export async function noSender(db: Queryable): Promise<string[]> {
  return (await countWorkers(db)) > 0
    ? []
    : ['No process that sends is running: it waits until you run email-gateway start.']
}
