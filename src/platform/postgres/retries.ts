import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailable, isDataError, isPassingConflict } from './errors.ts'

const CONFLICT_TRIES = 3

/**
 * Writes items together, or, when one of them is what Postgres refuses, each on its own: a bad value harms itself only.
 * Its place in the answer then holds the error.
 */
export async function writeBatchOrSingly<In, Out>(
  items: In[],
  write: (items: In[]) => Promise<Out[]>,
): Promise<(Out | Error)[]> {
  for (let tried = 1; ; tried++) {
    try {
      return await write(items)
    } catch (error) {
      if (isPassingConflict(error) && tried < CONFLICT_TRIES) continue
      if (!isDataError(error)) throw error
      if (items.length === 1) return [error as Error]
      const outcomes: (Out | Error)[] = []
      for (const item of items) outcomes.push(...(await writeBatchOrSingly([item], write)))
      return outcomes
    }
  }
}

const RETRY_EVERY_MS = 200

/** Tries again until the database is back, for so long: what is known only here would be lost. `run` must be idempotent. */
export async function retryWhileUnavailable<Out>(run: () => Promise<Out>, retryForMs: number): Promise<Out> {
  const beganMs = performance.now()
  const isOver = () => performance.now() - beganMs > retryForMs
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || isOver()) throw error
      await sleep(RETRY_EVERY_MS)
    }
  }
}
