import { expect, test } from 'vitest'
import { locksOf } from './doctor-locks.ts'

const wait = (seconds: number) => ({ seconds, blockerPid: 42, blockerRole: 'app' })

test('a short wait for a lock is ordinary, a long one names who holds it', () => {
  expect(locksOf(null).state).toBe('ok')
  expect(locksOf(wait(1)).state).toBe('ok')
  expect(locksOf(wait(30))).toEqual({
    name: 'locks',
    state: 'warning',
    detail: 'a session has waited 30 s for a lock of app; end it with: select pg_terminate_backend(42)',
  })
})
