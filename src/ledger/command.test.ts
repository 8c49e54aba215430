import { expect, test } from 'vitest'
import { linesOf } from './command.ts'
import type { Ledger, LedgerDay } from './ledger.ts'

const LEDGER: Ledger = {
  since: '2026-11-10',
  until: '2026-11-17',
  countedAt: null,
  uncountedDays: 0,
  balanced: true,
  acknowledgedEmails: 0,
  days: [],
}

test('the ledger says what it covers', () => {
  expect(linesOf(LEDGER)).toEqual(['2026-11-10 to 2026-11-17: nothing was accepted'])
  const countedAt = '2026-11-17T10:00:00.000Z'
  expect(linesOf({ ...LEDGER, countedAt, uncountedDays: 1, acknowledgedEmails: 2 })).toEqual([
    '2026-11-10 to 2026-11-17: balanced, 2 acknowledged',
    `counted at ${countedAt}: what came later may be missing`,
    '1 day is not counted yet: ask again, or wait for the gateway',
  ])
  expect(linesOf({ ...LEDGER, uncountedDays: 2 })[1]).toMatch(/^2 days are not counted yet: /)
})

test('the ledger names what is missing, how many have no name, and who knows of it', () => {
  const row: LedgerDay = {
    day: '2026-11-15',
    companyId: '019a0000-0000-7000-8000-000000000001',
    companyName: 'acme',
    accepted: 5,
    ended: 2,
    waiting: 1,
    unknown: 0,
    imbalance: 2,
    missing: ['019a0000-0000-7000-8000-000000000002'],
    imbalancedSince: '2026-11-16T10:00:00.000Z',
    acknowledged: { emails: 1, at: '2026-11-16T11:00:00.000Z', by: 'ana', reason: 'Deleted by hand' },
  }
  expect(linesOf({ ...LEDGER, balanced: false, acknowledgedEmails: 1, days: [row] })).toEqual([
    '2026-11-10 to 2026-11-17: NOT balanced, 1 acknowledged',
    'day         company  accepted  ended  waiting  unknown  imbalance',
    '2026-11-15  acme            5      2        1        0          2',
    '2026-11-15  acme  2 e-mails missing since 2026-11-16T10:00:00.000Z (1 acknowledged by ana at 2026-11-16T11:00:00.000Z: Deleted by hand)',
    '  019a0000-0000-7000-8000-000000000002  its row in email_outbox is gone, its events are left',
    '  1 e-mail more: not named by the event log, or not among the first',
  ])
})
