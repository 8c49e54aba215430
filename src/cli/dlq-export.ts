import type { DeadLetter } from '../db/outbox/dead-letters.ts'
import { asJson, counting, writeToFile } from './stream-out.ts'

/** Returns the number of entries written. */
export async function exportToFile(file: string, entries: AsyncIterable<DeadLetter>): Promise<number> {
  let exported = 0
  const counted = counting(entries, count => {
    exported = count
  })
  await writeToFile(file, asJson(counted, 'lines'))
  return exported
}
