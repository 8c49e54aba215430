import { expect, test } from 'vitest'
import { idleTransactionsOf, locksOf } from './database.ts'

const wait = (seconds: number) => ({ seconds, blockerPid: 42, blockerRole: 'app' })

test('a short wait for a lock is ordinary, a long one names who holds it', () => {
  expect(locksOf(null).state).toBe('ok')
  expect(locksOf(wait(1)).state).toBe('ok')
  expect(locksOf(wait(30))).toEqual({
    name: 'locks',
    state: 'warning',
    detail:
      'a session has waited 30 s for a lock of app; end the session that holds it with: select pg_terminate_backend(42)',
  })
})

test('a transaction that is idle for minutes is named with what it blocks and what ends it', () => {
  const session = { pid: 42, application: 'email-gateway-backup', role: 'app', seconds: 299 }
  expect(idleTransactionsOf(null)).toEqual([])
  expect(idleTransactionsOf(session)).toEqual([])
  expect(idleTransactionsOf({ ...session, seconds: 660 })).toEqual([
    {
      name: 'locks',
      state: 'warning',
      detail: expect.stringMatching(
        /^email-gateway-backup \(role app, pid 42\) .*idle .* 11 minutes: vacuum .* retention .*: select pg_terminate_backend\(42\)$/,
      ),
    },
  ])
})
