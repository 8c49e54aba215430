import { setTimeout as sleep } from 'node:timers/promises'

const DAY_MS = 86_400_000
/** Longer than a test about days takes on a busy machine, and shorter than its time limit. */
const NEAR_MS = 10_000

/** For a test whose days must not change while it runs: if midnight (UTC) is near, the test begins after it. */
export async function notAcrossMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < NEAR_MS) await sleep(leftMs + 1)
}
