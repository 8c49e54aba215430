/** How long a job is being leased and settled, before and after its call. */
const LEASE_AND_SETTLE_MS = 40
/**
 * The most jobs that are being leased or settled for each provider call. With 4, workers were faster, and overtook each other: a
 * company was served four times in a row (`FAULT=fair-order npm run faults`).
 */
const MAX_OUTSIDE_PER_CALL = 1

/**
 * Jobs that are being leased or settled while others are with the provider. The faster the provider answers, the more they are: of a
 * hundred calls that take a millisecond each, most jobs are in Postgres. At a provider that hangs they are none.
 */
export function jobsOutsideCalls(calls: number, finishedPerMs: number): number {
  return Math.min(MAX_OUTSIDE_PER_CALL * calls, Math.floor(finishedPerMs * LEASE_AND_SETTLE_MS))
}
