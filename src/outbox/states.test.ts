import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CANCELLABLE_STATUSES,
  decideFeedback,
  EMAIL_EVENT_TYPES,
  EMAIL_STATUSES,
  type EmailStatus,
  FEEDBACK_RANK,
  type FeedbackStatus,
  FINAL_STATUSES,
  isFinal,
  mayMove,
  REPLAYABLE_STATUSES,
  STATUS_TRANSITIONS,
  VALID_TRANSITIONS,
  validateTransition,
} from './states.ts'

const FEEDBACK = Object.keys(FEEDBACK_RANK) as FeedbackStatus[]
const statuses = fc.constantFrom(...EMAIL_STATUSES)
const feedback = fc.constantFrom(...FEEDBACK)
const rank = (status: EmailStatus) => FEEDBACK_RANK[status as FeedbackStatus] ?? 0
const targets = (from: EmailStatus) => EMAIL_STATUSES.filter(to => mayMove(from, to))
const settle = (start: EmailStatus, reports: FeedbackStatus[]) =>
  reports.reduce<EmailStatus>((status, report) => decideFeedback(status, report) ?? status, start)

describe('the published transitions', () => {
  const PUBLISHED = {
    QUEUED: ['SENT', 'REJECTED', 'DLQ_MOVED'],
    SENT: ['DELIVERED', 'BOUNCE', 'COMPLAINT'],
    DELIVERED: [] as string[],
    BOUNCE: [],
    COMPLAINT: [],
    REJECTED: [],
    DLQ_MOVED: [],
  }

  test('are the documented ones, plus the complaint that follows a delivery', () => {
    expect(VALID_TRANSITIONS).toEqual({ ...PUBLISHED, DELIVERED: ['COMPLAINT'] })
  })

  test.each([
    ['DELIVERED', 'BOUNCE'],
    ['BOUNCE', 'SENT'],
    ['COMPLAINT', 'DELIVERED'],
    ['REJECTED', 'SENT'],
  ])('%s → %s stays forbidden', (from, to) => {
    expect(validateTransition(from, to)).toBe(false)
  })

  test('validateTransition agrees with the table for any words', () => {
    const words = fc.oneof(
      fc.constantFrom(...Object.keys(PUBLISHED), 'constructor', '__proto__', 'toString', 'includes'),
      fc.string(),
    )
    fc.assert(
      fc.property(words, words, (from, to) => {
        const row = Object.entries(VALID_TRANSITIONS).find(([key]) => key === from)?.[1] ?? []
        expect(validateTransition(from, to)).toBe(row.includes(to))
      }),
    )
  })
})

describe('the lists', () => {
  test('hold the statuses and events that PRODUCT names', () => {
    expect(EMAIL_STATUSES).toHaveLength(13)
    expect(EMAIL_EVENT_TYPES.join(' ')).toBe(
      'QUEUED RECEIVED VALIDATED VALIDATION_FAILED SENT_ATTEMPT SENT FAILED RETRY_SCHEDULED DELIVERED BOUNCE COMPLAINT ' +
        'REJECTED DLQ_MOVED EXPIRED CANCELLED REPLAYED UNKNOWN RESOLVED',
    )
  })

  test('SENT is an end only where no provider events are set up', () => {
    expect(isFinal('SENT')).toBe(false)
    expect(isFinal('SENT', true)).toBe(true)
    expect(EMAIL_STATUSES.filter(status => isFinal(status)).toSorted()).toEqual(FINAL_STATUSES.toSorted())
  })

  test('what may be cancelled is exactly what may become CANCELLED', () => {
    expect(EMAIL_STATUSES.filter(from => mayMove(from, 'CANCELLED'))).toEqual(CANCELLABLE_STATUSES)
  })

  test('what may be replayed is exactly the ends that may become PENDING', () => {
    const replayable = EMAIL_STATUSES.filter(from => isFinal(from) && mayMove(from, 'PENDING'))
    expect(replayable.toSorted()).toEqual(REPLAYABLE_STATUSES.toSorted())
  })
})

describe('the enforced table', () => {
  test('has no row that leads back to itself and names nothing twice', () => {
    for (const status of EMAIL_STATUSES) {
      expect(STATUS_TRANSITIONS[status]).not.toContain(status)
      expect(new Set(STATUS_TRANSITIONS[status]).size).toBe(STATUS_TRANSITIONS[status].length)
    }
  })

  test('reaches every status from PENDING', () => {
    const reached = new Set<EmailStatus>(['PENDING'])
    for (const status of reached) for (const next of targets(status)) reached.add(next)
    expect([...reached].toSorted()).toEqual(EMAIL_STATUSES.toSorted())
  })

  test('reaches an end from every status, so that nothing waits for ever', () => {
    for (const status of EMAIL_STATUSES)
      expect(isFinal(status, true) || targets(status).some(to => isFinal(to))).toBe(true)
  })

  test('leaves an end only by replay or by feedback of a higher rank', () => {
    for (const from of FINAL_STATUSES) {
      for (const to of targets(from)) {
        const isReplay = to === 'PENDING' && (REPLAYABLE_STATUSES as readonly string[]).includes(from)
        expect(isReplay || rank(to) > rank(from), `${from} → ${to}`).toBe(true)
      }
    }
  })

  test('never goes back from an accepted e-mail to a waiting one, except by replay of a REJECTED', () => {
    for (const from of ['SENT', 'BOUNCED', 'DELIVERED', 'COMPLAINED'] as const) {
      for (const to of ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'] as const) {
        expect(mayMove(from, to)).toBe(false)
      }
    }
  })

  test('sends only by an attempt: only PENDING and RETRY_SCHEDULED become PROCESSING', () => {
    expect(EMAIL_STATUSES.filter(from => mayMove(from, 'PROCESSING'))).toEqual(['PENDING', 'RETRY_SCHEDULED'])
  })

  test('lets only an attempt become UNKNOWN, or an e-mail that waits for its provider to be asked', () => {
    expect(EMAIL_STATUSES.filter(from => mayMove(from, 'UNKNOWN'))).toEqual(['PENDING', 'PROCESSING'])
  })
})

describe('feedback', () => {
  test('ranks SENT < BOUNCED < DELIVERED < COMPLAINED', () => {
    const order = ['SENT', 'BOUNCED', 'DELIVERED', 'COMPLAINED'] as const
    expect(order.toSorted((a, b) => FEEDBACK_RANK[a] - FEEDBACK_RANK[b])).toEqual(order)
  })

  test('decides nothing that the table forbids, and all that it allows', () => {
    for (const current of EMAIL_STATUSES) {
      for (const incoming of FEEDBACK) {
        expect(decideFeedback(current, incoming), `${current} + ${incoming}`).toBe(
          mayMove(current, incoming) ? incoming : null,
        )
      }
    }
  })

  test('ends the same whatever the order and repetition of the reports', () => {
    fc.assert(
      fc.property(
        statuses,
        fc.array(feedback).chain(reports =>
          fc.tuple(
            fc.constant(reports),
            fc.shuffledSubarray([...reports, ...reports], {
              minLength: reports.length * 2,
              maxLength: reports.length * 2,
            }),
          ),
        ),
        (start, [reports, shuffled]) => settle(start, reports) === settle(start, shuffled),
      ),
    )
  })

  test('a bounce beside a delivery leaves DELIVERED, and a complaint beats all', () => {
    expect(settle('SENT', ['BOUNCED', 'DELIVERED'])).toBe('DELIVERED')
    expect(settle('SENT', ['DELIVERED', 'BOUNCED'])).toBe('DELIVERED')
    expect(settle('SENT', ['COMPLAINED', 'DELIVERED', 'BOUNCED'])).toBe('COMPLAINED')
  })

  test('a Reject that overtakes its Send stays REJECTED', () => {
    expect(settle('PROCESSING', ['REJECTED', 'SENT'])).toBe('REJECTED')
  })

  test('a delivery that arrives after a held e-mail was given up is believed', () => {
    expect(decideFeedback('FAILED', 'DELIVERED')).toBe('DELIVERED')
  })
})
