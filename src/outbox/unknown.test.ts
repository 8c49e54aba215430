import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideUnknown, type UnknownOutcome } from './unknown.ts'

const outcome = (change: Partial<UnknownOutcome> = {}): UnknownOutcome => ({
  recognised: false,
  onUnknown: 'resend',
  attempts: 1,
  maxAttempts: 5,
  expired: false,
  ...change,
})

const anyOutcome: fc.Arbitrary<UnknownOutcome> = fc.record({
  recognised: fc.boolean(),
  onUnknown: fc.constantFrom('resend' as const, 'hold' as const),
  attempts: fc.integer({ min: 1, max: 6 }),
  maxAttempts: fc.integer({ min: 1, max: 5 }),
  expired: fc.boolean(),
})

describe('an unknown send that no provider event has resolved in time', () => {
  test.each<[name: string, change: Partial<UnknownOutcome>, decision: ReturnType<typeof decideUnknown>]>([
    ['a provider that recognises the attempt is called again', { recognised: true }, { kind: 'repeat-call' }],
    ['also for mail that wants to be held', { recognised: true, onUnknown: 'hold' }, { kind: 'repeat-call' }],
    [
      'also after the last attempt, since a repeated call is none',
      { recognised: true, attempts: 5 },
      { kind: 'repeat-call' },
    ],
    ['resend sends it again while attempts are left', { attempts: 4 }, { kind: 'send-again' }],
    ['resend without an attempt left is a dead letter', { attempts: 5 }, { kind: 'give-up', status: 'DLQ' }],
    ['hold waits for evidence', { onUnknown: 'hold' }, { kind: 'hold' }],
    ['hold waits also when no attempt is left', { onUnknown: 'hold', attempts: 5 }, { kind: 'hold' }],
    ['hold ends with its time', { onUnknown: 'hold', expired: true }, { kind: 'give-up', status: 'FAILED' }],
    ['resend ends with its time', { expired: true }, { kind: 'give-up', status: 'FAILED' }],
    ['asking ends with its time', { recognised: true, expired: true }, { kind: 'give-up', status: 'FAILED' }],
  ])('%s', (_, change, decision) => {
    expect(decideUnknown(outcome(change))).toEqual(decision)
  })

  test('with onUnknown hold nothing is ever sent again', () => {
    fc.assert(fc.property(anyOutcome, one => one.onUnknown !== 'hold' || decideUnknown(one).kind !== 'send-again'))
  })

  test('nothing is sent again beyond its attempts', () => {
    fc.assert(
      fc.property(anyOutcome, one => decideUnknown(one).kind !== 'send-again' || one.attempts < one.maxAttempts),
    )
  })

  test('everything that has expired ends, so UNKNOWN does not last for ever', () => {
    fc.assert(fc.property(anyOutcome, one => decideUnknown({ ...one, expired: true }).kind === 'give-up'))
  })
})
