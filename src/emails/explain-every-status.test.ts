import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AT,
  email,
  LATER,
  PARKED,
  paused,
  ready,
  sentences,
  THROTTLED,
  UNKNOWN_SEND,
  where,
} from '../../test/support/explained-email.ts'
import { EMAIL_STATUSES } from '../outbox/states.ts'
import { explainInCodes, explanationInCodesSchema, explanationSchema } from './explain.ts'
import { explainEmail } from './explain-english.ts'

const EVERYWHERE = [
  where(),
  where({ queuePosition: ready() }),
  where({ queuePosition: paused }),
  where({ inFlight: { kind: 'work', holder: 'host:1', expired: false, silent: false } }),
  where({ inFlight: { kind: 'work', holder: 'host:1', expired: true, silent: false } }),
  where({ inFlight: { kind: 'dispatch', holder: 'host:1', expired: false, silent: false }, workersAlive: false }),
  where({ queuePosition: ready(), throughRedis: true }),
  where({ unknown: UNKNOWN_SEND, eventsExpected: false, sentAgain: true }),
  where({ unknown: UNKNOWN_SEND }),
  where({ unknown: { ...UNKNOWN_SEND, onUnknown: 'hold', reason: 'else' } }),
  where({ queuePosition: ready(), parked: PARKED }),
  where({ contentGone: true }),
]

describe('every status', () => {
  test.each(EMAIL_STATUSES)('%s is explained in a sentence without missing values', status => {
    for (const location of EVERYWHERE) {
      const explanation = explainEmail(email(status), location)
      expect(explanationSchema.strict().safeParse(explanation).error).toBeUndefined()
      const codes = explainInCodes(email(status), location)
      expect(explanationInCodesSchema.safeParse({ ...explanation, ...codes }).error).toBeUndefined()
      expect(explanation.summary).toMatch(/^[A-Z].{15,}\.?$/)
      expect(sentences(explanation)).not.toMatch(/null|undefined|NaN|\[object/)
    }
  })

  test('no sentence contains null or undefined, whatever is missing', () => {
    const maybe = <T>(value: T) => fc.option(fc.constant(value))
    fc.assert(
      fc.property(
        fc.constantFrom(...EMAIL_STATUSES),
        fc.record({
          provider: maybe('capture'),
          messageId: maybe('m-1'),
          lastError: maybe(THROTTLED),
          nextAttemptAt: maybe(LATER),
          sentAt: maybe(AT),
          deliveredAt: maybe(LATER),
        }),
        fc.constantFrom(...EVERYWHERE),
        (status, holes, location) => {
          expect(sentences(explainEmail(email(status, holes), location))).not.toMatch(/null|undefined/)
        },
      ),
    )
  })

  test('no two statuses are explained with the same sentence', () => {
    const summaries = EMAIL_STATUSES.map(status => explainEmail(email(status), where()).summary)
    expect(new Set(summaries).size).toBe(EMAIL_STATUSES.length)
  })

  test.each(EMAIL_STATUSES)('%s has the attempts and the last error of the e-mail', status => {
    const given = email(status)
    const { attempts, maxAttempts, lastError, outboxId } = given
    expect(explainEmail(given, where())).toMatchObject({ outboxId, status, attempts, maxAttempts, lastError })
  })
})
