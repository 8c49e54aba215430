import { expect, test } from 'vitest'
import type { Ledger } from '../contracts/ledger.ts'
import { linesOf } from './ledger.ts'

const LEDGER: Ledger = {
  since: '2026-11-10',
  until: '2026-11-17',
  countedAt: null,
  uncountedHours: 0,
  balanced: true,
  acknowledgedEmails: 0,
  days: [],
  faults: [],
}

test('the ledger says what it covers', () => {
  expect(linesOf(LEDGER)).toEqual(['2026-11-10 to 2026-11-17: nothing was accepted'])
  const countedAt = '2026-11-17T10:00:00.000Z'
  expect(linesOf({ ...LEDGER, countedAt, uncountedHours: 1, acknowledgedEmails: 2 })).toEqual([
    '2026-11-10 to 2026-11-17: balanced, 2 acknowledged',
    `counted at ${countedAt}: what came later may be missing`,
    '1 hour is not counted yet: ask again, or wait for the gateway',
  ])
  expect(linesOf({ ...LEDGER, uncountedHours: 2 })[1]).toMatch(/^2 hours are not counted yet: /)
})
