import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  calculateExpiration,
  DEFAULT_SUPPRESSION_POLICY,
  DEFAULT_SUPPRESSION_TTL_DAYS,
  decideAutomaticSuppression,
  mayRemoveSuppression,
  SUPPRESSION_REASONS,
  SUPPRESSION_SEVERITY,
  type Suppression,
  strongerSuppression,
} from './rules.ts'

const now = new Date('2025-01-23T10:00:00.000Z')
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000)

describe('calculateExpiration', () => {
  test('a hard bounce expires after 90 days', () => {
    expect(calculateExpiration('HARD_BOUNCE', DEFAULT_SUPPRESSION_TTL_DAYS, now)).toEqual(
      new Date('2025-04-23T10:00:00.000Z'),
    )
  })

  test('a complaint never ends', () => {
    expect(calculateExpiration('COMPLAINT')).toBeNull()
  })

  test('a manual entry ends after a year', () => {
    expect(calculateExpiration('MANUAL', DEFAULT_SUPPRESSION_TTL_DAYS, now)).toEqual(inDays(365))
  })

  test('the settings decide, and zero days are for ever', () => {
    const ttlDays = { HARD_BOUNCE: 7, COMPLAINT: 30, MANUAL: 0 }
    expect(SUPPRESSION_REASONS.map(reason => calculateExpiration(reason, ttlDays, now))).toEqual([
      null,
      inDays(7),
      inDays(30),
    ])
  })

  test('called with the reason alone it counts from this moment', () => {
    const expected = Date.now() + 90 * 86_400_000
    expect(Math.abs(calculateExpiration('HARD_BOUNCE')!.getTime() - expected)).toBeLessThan(5000)
  })

  test('an unknown reason is an error, not an invalid date', () => {
    expect(() => calculateExpiration('SOFT_BOUNCE')).toThrow('Unknown suppression reason: SOFT_BOUNCE')
    expect(() => calculateExpiration('constructor')).toThrow('Unknown suppression reason')
  })
})

describe('decideAutomaticSuppression', () => {
  const policy = DEFAULT_SUPPRESSION_POLICY

  test('a hard bounce suppresses for 90 days, a complaint for ever, for all companies', () => {
    expect(decideAutomaticSuppression('HARD_BOUNCE', 'm2')).toEqual({
      companyId: null,
      reason: 'HARD_BOUNCE',
      expiresInDays: 90,
    })
    expect(decideAutomaticSuppression('COMPLAINT', 'm2')).toEqual({
      companyId: null,
      reason: 'COMPLAINT',
      expiresInDays: 0,
    })
  })

  test('with a list for each company it is on the list of the one that sent', () => {
    expect(decideAutomaticSuppression('COMPLAINT', 'm2', { ...policy, scope: 'company' })?.companyId).toBe('m2')
  })

  test('each can be switched off on its own', () => {
    const quiet = { ...policy, automatic: { HARD_BOUNCE: false, COMPLAINT: true } }
    expect(decideAutomaticSuppression('HARD_BOUNCE', 'm2', quiet)).toBeNull()
    expect(decideAutomaticSuppression('COMPLAINT', 'm2', quiet)).not.toBeNull()
  })
})

test('a complaint cannot be removed; the others can', () => {
  expect(SUPPRESSION_REASONS.filter(mayRemoveSuppression)).toEqual(['MANUAL', 'HARD_BOUNCE'])
})

test('the reasons are listed in order of severity', () => {
  const severities = SUPPRESSION_REASONS.map(reason => SUPPRESSION_SEVERITY[reason])
  expect(severities).toEqual(severities.toSorted())
})

describe('strongerSuppression', () => {
  const complaint: Suppression = { reason: 'COMPLAINT', expiresAt: null }
  const bounce: Suppression = { reason: 'HARD_BOUNCE', expiresAt: inDays(90) }

  const suppressions = fc.record({
    reason: fc.constantFrom(...SUPPRESSION_REASONS),
    expiresAt: fc.option(fc.integer({ min: -400, max: 400 }).map(inDays), { nil: null }),
  })
  const active = suppressions.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)

  test('a later hard bounce does not weaken a complaint', () => {
    expect(strongerSuppression(complaint, bounce, now)).toEqual(complaint)
    expect(strongerSuppression(bounce, complaint, now)).toEqual(complaint)
  })

  test('a hard bounce does not shorten a manual entry, nor the other way round', () => {
    const year: Suppression = { reason: 'MANUAL', expiresAt: inDays(365) }
    const week: Suppression = { reason: 'MANUAL', expiresAt: inDays(7) }
    expect(strongerSuppression(year, bounce, now)).toEqual({ reason: 'HARD_BOUNCE', expiresAt: inDays(365) })
    expect(strongerSuppression(bounce, week, now)).toEqual(bounce)
  })

  test('a second bounce prolongs the first', () => {
    const later: Suppression = { reason: 'HARD_BOUNCE', expiresAt: inDays(120) }
    expect(strongerSuppression(bounce, later, now)).toEqual(later)
  })

  test('an expired entry that is added again is the new one', () => {
    const expired: Suppression = { reason: 'MANUAL', expiresAt: inDays(-1) }
    expect(strongerSuppression(expired, bounce, now)).toEqual(bounce)
  })

  test('neither the reason nor the end ever gets weaker', () => {
    const end = ({ expiresAt }: Suppression) => expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    fc.assert(
      fc.property(active, suppressions, (before, added) => {
        const after = strongerSuppression(before, added, now)
        return SUPPRESSION_SEVERITY[after.reason] >= SUPPRESSION_SEVERITY[before.reason] && end(after) >= end(before)
      }),
    )
  })

  test('the order of arrival does not matter', () => {
    fc.assert(
      fc.property(active, active, active, (a, b, c) => {
        const join = (x: Suppression, y: Suppression) => strongerSuppression(x, y, now)
        expect(join(a, b)).toEqual(join(b, a))
        expect(join(join(a, b), c)).toEqual(join(a, join(b, c)))
        expect(join(a, a)).toEqual(a)
      }),
    )
  })
})
