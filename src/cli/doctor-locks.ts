import type { LockWait } from '../db/health.ts'
import type { Check } from './doctor-check.ts'

const LONG_SECONDS = 5

/** Whether sending stands still because somebody holds a lock, such as an application with an open transaction. */
export function locksOf(longest: LockWait | null): Check {
  const name = 'locks'
  if (longest === null || longest.seconds < LONG_SECONDS)
    return { name, state: 'ok', detail: 'nothing waits for a lock' }
  const { seconds, blockerPid, blockerRole } = longest
  const detail = `a session has waited ${Math.round(seconds)} s for a lock of ${blockerRole}; end it with: select pg_terminate_backend(${blockerPid})`
  return { name, state: 'warning', detail }
}
