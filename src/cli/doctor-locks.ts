import type { IdleTransaction, LockWait } from '../db/health.ts'
import type { Check } from './doctor-check.ts'

const LONG_SECONDS = 5
const LONG_IDLE_SECONDS = 300

/** Whether sending stands still because somebody holds a lock, such as an application with an open transaction. */
export function locksOf(longest: LockWait | null): Check {
  const name = 'locks'
  if (longest === null || longest.seconds < LONG_SECONDS)
    return { name, state: 'ok', detail: 'nothing waits for a lock' }
  const { seconds, blockerPid, blockerRole } = longest
  const detail = `a session has waited ${Math.round(seconds)} s for a lock of ${blockerRole}; end the session that holds it with: select pg_terminate_backend(${blockerPid})`
  return { name, state: 'warning', detail }
}

/** It does nothing itself, so nothing waits for it that anybody would notice before the disk is full. */
export function idleTransactionsOf(longest: IdleTransaction | null): Check[] {
  if (longest === null || longest.seconds < LONG_IDLE_SECONDS) return []
  const { pid, application, role, seconds } = longest
  const who = application ? `${application} (role ${role}, pid ${pid})` : `a session of ${role} (pid ${pid})`
  const detail = `${who} has been idle in a transaction for ${Math.floor(seconds / 60)} minutes: vacuum cannot remove what it may still see, and retention waits for its tables; end it with: select pg_terminate_backend(${pid})`
  return [{ name: 'locks', state: 'warning', detail }]
}
