import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../outbox/settle.ts'
import { EMAIL_EVENT_TYPES, type EmailStatus, mayMove } from '../../outbox/states.ts'
import type { FailureFacts, SettledOutcome } from '../attempt/outcome.ts'
import { toSettlement } from './settle.ts'
import type { AttemptFacts } from './settlement-by-outcome.ts'

const guard = { kind: 'started', leaseId: 'l' } as const
const facts: AttemptFacts = {
  outboxId: 'o',
  guard,
  requestId: 'r-1',
  attempt: 3,
  attemptsBefore: 2,
  maxAttempts: 5,
  durationMs: 42,
  attemptId: 'a-1',
  provider: 'ses',
}
/** No call was made: RECEIVED is still to be written. */
const waiting: AttemptFacts = { ...facts, guard: { kind: 'claimed', leaseId: 'l' } }
const failure: FailureFacts = {
  code: 'SES_THROTTLING',
  category: 'QUOTA_ERROR',
  message: 'Maximum sending rate exceeded.',
  originalCode: 'Throttling',
}
const ERROR = {
  errorCode: 'SES_THROTTLING',
  errorCategory: 'QUOTA_ERROR',
  errorMessage: 'Maximum sending rate exceeded.',
  providerCode: 'Throttling',
  originalCode: 'Throttling',
}
const FAILED = { ...ERROR, willRetry: false, attempt: 3 }
const MOVED = { attempts: 3, lastError: failure.message, lastErrorCode: failure.code, lastProviderCode: 'Throttling' }
const dead = (status: 'REJECTED' | 'FAILED' | 'DLQ', validation?: string): SettledOutcome => ({
  kind: 'dead',
  status,
  failure,
  ...(validation && { validation }),
})

type Row = [name: string, outcome: SettledOutcome, status: EmailStatus, events: [type: string, metadata: object][]]

/** Each way an attempt can end: status, and its events in order with their metadata. */
const ENDS: Row[] = [
  ['sent', { kind: 'sent', messageId: 'm-1' }, 'SENT', [['SENT', { messageId: 'm-1', durationMs: 42, attempt: 3 }]]],
  [
    'failed for now',
    { kind: 'retry', failure, delayMs: 5000 },
    'RETRY_SCHEDULED',
    [['RETRY_SCHEDULED', { ...ERROR, willRetry: true, nextAttemptNumber: 4, backoffDelay: 5000 }]],
  ],
  [
    'throttled',
    { kind: 'postponed', because: 'throttled', failure, delayMs: 1000 },
    'RETRY_SCHEDULED',
    [['RETRY_SCHEDULED', { ...ERROR, willRetry: true, throttled: true, attempt: 3, nextAttemptNumber: 3 }]],
  ],
  [
    'without a connection',
    { kind: 'postponed', because: 'unconnected', failure, delayMs: 1000 },
    'RETRY_SCHEDULED',
    [['RETRY_SCHEDULED', { ...ERROR, willRetry: true, unconnected: true, attempt: 3, nextAttemptNumber: 3 }]],
  ],
  [
    'refused by the provider',
    dead('REJECTED'),
    'REJECTED',
    [
      ['REJECTED', { ...FAILED, reason: failure.message, sesError: 'Throttling' }],
      ['DLQ_MOVED', MOVED],
    ],
  ],
  [
    'no attempt left',
    dead('DLQ'),
    'DLQ',
    [
      ['FAILED', FAILED],
      ['DLQ_MOVED', MOVED],
    ],
  ],
  [
    'not valid',
    dead('FAILED', 'TEMPLATE'),
    'FAILED',
    [
      ['VALIDATION_FAILED', { ...ERROR, validation: 'TEMPLATE', attempt: 3 }],
      ['FAILED', FAILED],
      ['DLQ_MOVED', MOVED],
    ],
  ],
  [
    'left without an answer',
    { kind: 'unknown', failure: { ...failure, category: 'TIMEOUT_ERROR' }, graceSeconds: 120 },
    'UNKNOWN',
    [['UNKNOWN', { reason: 'TIMEOUT', attempt: 3, attemptId: 'a-1', provider: 'ses', graceSeconds: 120 }]],
  ],
  [
    'cut off',
    { kind: 'unknown', failure, graceSeconds: 5 },
    'UNKNOWN',
    [['UNKNOWN', { ...ERROR, reason: 'CONNECTION_LOST', attempt: 3 }]],
  ],
  [
    'parked with its provider',
    { kind: 'parked', failure },
    'PENDING',
    [['RETRY_SCHEDULED', { ...ERROR, parked: true, willRetry: true, attempt: 3, nextAttemptNumber: 3 }]],
  ],
  [
    'stopped by the suppression list',
    { kind: 'suppressed', hashes: ['sha256:a', 'sha256:b'] },
    'REJECTED',
    [
      [
        'REJECTED',
        { errorCode: 'RECIPIENT_SUPPRESSED', recipient: 'sha256:a', suppressed: ['sha256:a', 'sha256:b'], attempt: 3 },
      ],
    ],
  ],
  ['too late', { kind: 'expired' }, 'EXPIRED', [['EXPIRED', { attempts: 2 }]]],
]

describe.each(ENDS)('an attempt that was %s', (_, outcome, status, events) => {
  const settlement = toSettlement(outcome, facts)
  // What is too late is not started.
  const before = outcome.kind === 'expired' ? 'PENDING' : 'PROCESSING'

  test(`leaves the e-mail ${status}, which ${before} may become`, () => {
    expect(settlement).toMatchObject({ outboxId: 'o', guard, status })
    expect(mayMove(before, settlement.status)).toBe(true)
  })

  test('writes its events in this order, with the metadata of the source documents', () => {
    expect(settlement.events.map(event => event.type)).toEqual(events.map(([type]) => type))
    settlement.events.forEach((event, place) => {
      expect(event.metadata).toMatchObject(events[place]![1])
      expect(EMAIL_EVENT_TYPES).toContain(event.type)
    })
  })

  test('before any call: RECEIVED comes first, under the same guard', () => {
    const refused = toSettlement(outcome, waiting)
    expect(refused.guard).toEqual({ kind: 'claimed', leaseId: 'l' })
    expect(refused.events.map(event => event.type)).toEqual(['RECEIVED', ...events.map(([type]) => type)])
    expect(refused.events[0]!.metadata).toEqual({ attempt: 3, requestId: 'r-1' })
  })

  test('can travel as JSON without losing a field of its events', () => {
    for (const { metadata } of settlement.events) expect(Object.values(metadata)).not.toContain(undefined)
  })
})

describe('what hangs on the status', () => {
  test('only a sent e-mail has a message id, and it has no error', () => {
    for (const [, outcome] of ENDS) {
      const { messageId, error, status } = toSettlement(outcome, facts)
      expect(messageId !== undefined).toBe(status === 'SENT')
      if (status === 'SENT') expect(error).toBeUndefined()
    }
  })

  test('every end that is a failure says why, since failed_at demands a reason', () => {
    for (const [, outcome] of ENDS) {
      const { error, status } = toSettlement(outcome, facts)
      if (['REJECTED', 'FAILED', 'DLQ', 'EXPIRED', 'RETRY_SCHEDULED'].includes(status))
        for (const part of [error?.code, error?.category, error?.message]) expect(part).toMatch(/\S/)
    }
  })

  test('a retry, and nothing else, has its delay', () => {
    for (const [, outcome] of ENDS) {
      const { retryDelayMs, status } = toSettlement(outcome, facts)
      expect(retryDelayMs !== undefined).toBe(status === 'RETRY_SCHEDULED')
    }
  })

  test('REJECTED, FAILED and DLQ become dead letters with a reason and at least one attempt; nothing else, and no suppressed one, does', () => {
    for (const [, outcome] of ENDS) {
      const settlement = toSettlement(outcome, facts)
      const isDead = ['REJECTED', 'FAILED', 'DLQ'].includes(settlement.status) && outcome.kind !== 'suppressed'
      expect(settlement.dead !== undefined).toBe(isDead)
      expect(settlement.events.some(event => event.type === 'DLQ_MOVED')).toBe(isDead)
      if (isDead)
        expect(settlement.dead).toEqual({
          failedAttempts: 3,
          reason: failure.message,
          code: failure.code,
          providerCode: failure.originalCode,
        })
    }
  })

  test('where the provider has no word for it, the dead letter carries our code alone', () => {
    const own = { code: 'INVALID_TEMPLATE', category: 'VALIDATION_ERROR', message: 'no content' }
    const settlement = toSettlement({ kind: 'dead', status: 'FAILED', failure: own, validation: 'TEMPLATE' }, facts)
    expect(settlement.dead).toMatchObject({ code: 'INVALID_TEMPLATE', providerCode: null })
    expect(settlement.events[0]!.metadata).toMatchObject({ providerCode: null, originalCode: null })
  })
})

describe('attempts', () => {
  test('count when something was tried; a parked, a postponed and an expired one give theirs back', () => {
    for (const [, outcome] of ENDS) {
      const spent = ['parked', 'postponed', 'expired'].includes(outcome.kind) ? 2 : 3
      expect(toSettlement(outcome, facts).attempts, outcome.kind).toBe(spent)
    }
  })

  test('one that only repeats a call has none to give back', () => {
    const parked = toSettlement({ kind: 'parked', failure }, { ...facts, isUnresolved: true })
    expect(parked).toMatchObject({ attempts: 3, sameAttempt: true })
    expect(toSettlement({ kind: 'parked', failure }, facts).sameAttempt).toBeUndefined()
  })
})

describe('an attempt whose outcome was unknown, called again', () => {
  const unresolved: AttemptFacts = { ...facts, isUnresolved: true }

  test.each<[string, SettledOutcome, string]>([
    ['taken', { kind: 'sent', messageId: 'm-1' }, 'idempotency-key'],
    ['refused for good', dead('FAILED'), 'given-up'],
  ])('and %s: RESOLVED comes before its end, and is counted', (_, outcome, by) => {
    const settlement = toSettlement(outcome, unresolved)
    expect(settlement.events[0]).toMatchObject({ type: 'RESOLVED', metadata: { by, attemptId: 'a-1' } })
    expect(settlement.count).toEqual(['unknown_resolved', by])
  })

  test.each<[string, SettledOutcome, Settlement['count']]>([
    ['unanswered once more', { kind: 'unknown', failure, graceSeconds: 5 }, ['unknown_sends', 'CONNECTION_LOST']],
    ['parked', { kind: 'parked', failure }, undefined],
  ])('and %s: nothing is resolved', (_, outcome, count) => {
    const settlement = toSettlement(outcome, unresolved)
    expect(settlement.events.map(event => event.type)).not.toContain('RESOLVED')
    expect(settlement.count).toEqual(count)
  })
})

describe('recipients left out', () => {
  const suppressedHashes = ['sha256:a', 'sha256:b']

  test('are named by hash in SENT', () => {
    const settlement = toSettlement({ kind: 'sent', messageId: 'm-1' }, { ...facts, suppressedHashes })
    expect(settlement.events[0]!.metadata).toMatchObject({ suppressed: ['sha256:a', 'sha256:b'] })
  })

  test('nobody left out: nothing is said', () => {
    const settlement = toSettlement({ kind: 'sent', messageId: 'm-1' }, { ...facts, suppressedHashes: [] })
    expect(settlement.events[0]!.metadata).not.toHaveProperty('suppressed')
  })
})
