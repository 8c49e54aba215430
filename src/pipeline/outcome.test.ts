import { describe, expect, test } from 'vitest'
import { EMAIL_EVENT_TYPES, type EmailStatus, mayMove } from '../contracts/states.ts'
import { type AttemptFacts, type FailureFacts, type Outcome, toSettlement } from './outcome.ts'

const facts: AttemptFacts = { outboxId: 'o', leaseId: 'l', attempt: 3, maxAttempts: 5, durationMs: 42 }
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
  originalCode: 'Throttling',
}
const FAILED = { ...ERROR, willRetry: false, attempt: 3 }
const MOVED = { attempts: 3, lastError: failure.message }
const dead = (status: 'REJECTED' | 'FAILED' | 'DLQ', validation?: string): Outcome => ({
  kind: 'dead',
  status,
  failure,
  ...(validation && { validation }),
})

type Row = [name: string, outcome: Outcome, status: EmailStatus, events: [type: string, metadata: object][]]

/** Each way an attempt can end: status, and its events in order with the metadata the seeds list (000 §4, 004 §1). */
const ENDS: Row[] = [
  [
    'sent',
    { kind: 'sent', messageId: 'm-1' },
    'SENT',
    [
      [
        'SENT',
        { messageId: 'm-1', sesMessageId: 'm-1', durationMs: 42, processingTimeMs: 42, attempt: 3, attempts: 3 },
      ],
    ],
  ],
  [
    'failed for now',
    { kind: 'retry', failure, delayMs: 5000 },
    'RETRY_SCHEDULED',
    [['RETRY_SCHEDULED', { ...ERROR, willRetry: true, nextAttemptNumber: 4, backoffDelay: 5000 }]],
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
  ['too late', { kind: 'expired' }, 'EXPIRED', [['EXPIRED', { attempts: 3 }]]],
]

describe.each(ENDS)('an attempt that was %s', (_, outcome, status, events) => {
  const settlement = toSettlement(outcome, facts)

  test(`leaves the e-mail ${status}, which PROCESSING may become`, () => {
    expect(settlement).toMatchObject({ outboxId: 'o', leaseId: 'l', status })
    expect(mayMove('PROCESSING', settlement.status)).toBe(true)
  })

  test('writes its events in this order, with the metadata of the source documents', () => {
    expect(settlement.events.map(event => event.type)).toEqual(events.map(([type]) => type))
    settlement.events.forEach((event, place) => {
      expect(event.metadata).toMatchObject(events[place]![1])
      expect(EMAIL_EVENT_TYPES).toContain(event.type)
    })
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
      expect(retryDelayMs).toBe(status === 'RETRY_SCHEDULED' ? 5000 : undefined)
    }
  })

  test('REJECTED, FAILED and DLQ become dead letters with a reason and at least one attempt; nothing else does', () => {
    for (const [, outcome] of ENDS) {
      const settlement = toSettlement(outcome, facts)
      const isDead = ['REJECTED', 'FAILED', 'DLQ'].includes(settlement.status)
      expect(settlement.dead !== undefined).toBe(isDead)
      expect(settlement.events.some(event => event.type === 'DLQ_MOVED')).toBe(isDead)
      if (isDead)
        expect(settlement.dead).toEqual({ failedAttempts: 3, reason: failure.message, code: failure.originalCode })
    }
  })

  test('without a code of the provider the dead letter carries ours', () => {
    const own = { code: 'INVALID_TEMPLATE', category: 'VALIDATION_ERROR', message: 'no content' }
    const settlement = toSettlement({ kind: 'dead', status: 'FAILED', failure: own, validation: 'TEMPLATE' }, facts)
    expect(settlement.dead!.code).toBe('INVALID_TEMPLATE')
    expect(settlement.events[0]!.metadata).toMatchObject({ originalCode: null })
  })
})
