import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EmailSummary } from '../outbox/email-view.ts'
import { EMAIL_STATUSES, type EmailStatus } from '../outbox/states.ts'
import {
  type EmailLocation,
  explainInCodes,
  explanationInCodesSchema,
  explanationSchema,
  type QueuePosition,
} from './explain.ts'
import { explainEmail } from './explain-english.ts'

const AT = '2026-01-23T10:00:00.000Z'
const LATER = '2026-01-23T10:00:30.000Z'
const THROTTLED = {
  code: 'SES_THROTTLING',
  providerCode: 'Throttling',
  category: 'QUOTA_ERROR',
  message: 'Maximum sending rate exceeded',
}

/** What an e-mail of each status is known to have; see the constraints of email_outbox. */
const FACTS: Record<EmailStatus, Partial<EmailSummary>> = {
  PENDING: {},
  PROCESSING: { attempts: 1, provider: 'capture' },
  RETRY_SCHEDULED: { attempts: 1, provider: 'capture', lastError: THROTTLED, nextAttemptAt: LATER },
  UNKNOWN: { attempts: 1, provider: 'ses' },
  SENT: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT },
  DELIVERED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT, deliveredAt: LATER },
  BOUNCED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT },
  COMPLAINED: { attempts: 1, provider: 'capture', messageId: 'm-1', sentAt: AT, deliveredAt: AT },
  REJECTED: { attempts: 1, provider: 'capture', lastError: THROTTLED, failedAt: AT },
  FAILED: { attempts: 1, lastError: THROTTLED, failedAt: AT },
  DLQ: { attempts: 5, provider: 'capture', lastError: THROTTLED, failedAt: AT },
  EXPIRED: { attempts: 2, failedAt: AT },
  CANCELLED: {},
}

function email(status: EmailStatus, more: Partial<EmailSummary> = {}): EmailSummary {
  return {
    outboxId: '0199b3a0-0000-7000-8000-000000000000',
    companyId: '0199b3a0-0000-7000-8000-000000000001',
    requestId: 'r-1',
    externalId: null,
    status,
    from: 'a@example.com',
    to: ['b@example.com'],
    cc: [],
    bcc: [],
    subject: 'Hello',
    templateType: null,
    tags: [],
    attempts: 0,
    maxAttempts: 5,
    provider: null,
    messageId: null,
    lastError: null,
    createdAt: AT,
    scheduledAt: null,
    nextAttemptAt: null,
    sentAt: null,
    deliveredAt: null,
    failedAt: null,
    expiresAt: '2026-01-24T10:00:00.000Z',
    durationMs: null,
    resendOf: null,
    ...FACTS[status],
    ...more,
  }
}

const ready = (more: Partial<QueuePosition> = {}): QueuePosition => ({
  ahead: 0,
  companies: 1,
  paused: false,
  pauseReason: null,
  ...more,
})
const where = (more: Partial<EmailLocation> = {}): EmailLocation => ({
  queuePosition: null,
  inFlight: null,
  unknown: null,
  parked: null,
  contentGone: false,
  workersAlive: true,
  throughRedis: false,
  eventsExpected: true,
  sentAgain: false,
  recipients: { bounced: 0, of: 1 },
  ...more,
})
const PARKED = [
  { provider: 'ses', since: AT, code: 'SES_DAILY_QUOTA_EXCEEDED', reason: 'Daily quota exceeded', probeAt: LATER },
]
const UNKNOWN_SEND = {
  reason: 'TIMEOUT',
  provider: 'ses',
  since: AT,
  resolveAt: LATER,
  onUnknown: 'resend' as const,
}
const paused = ready({ paused: true, pauseReason: 'bounce rate above 5 %' })
const sentences = (explanation: { summary: string; next: string | null }) =>
  `${explanation.summary} ${explanation.next ?? ''}`

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

test('a sentence of the provider that ends in a full stop does not get a second one', () => {
  const lastError = {
    code: 'SES_INTERNAL_ERROR',
    providerCode: 'InternalFailure',
    category: 'TRANSIENT_ERROR',
    message: 'Something broke.',
  }
  for (const status of ['RETRY_SCHEDULED', 'REJECTED', 'FAILED', 'DLQ'] as const)
    expect(explainEmail(email(status, { lastError }), where()).summary).toMatch(/Something broke\.$/)
})

test.each(['SENT', 'DELIVERED', 'COMPLAINED'] as const)(
  'says that other recipients bounced, which the status does not say: %s',
  status => {
    const summary = (bounced: number) => explainEmail(email(status), where({ recipients: { bounced, of: 4 } })).summary
    expect(summary(2)).toMatch(/; 2 of its 4 recipients bounced\./)
    expect([summary(0), summary(4)].join(' ')).not.toContain('bounced')
  },
)

test.each(['PENDING', 'RETRY_SCHEDULED'] as const)('says of a waiting e-mail that no worker is running: %s', status => {
  const location = where({ queuePosition: ready(), workersAlive: false })
  expect(explainEmail(email(status), location).next).toMatch(/^No worker is running/)
})

describe('the summary', () => {
  test.each<[string, EmailStatus, Partial<EmailSummary>, QueuePosition | null, RegExp]>([
    ['ready', 'PENDING', {}, ready({ ahead: 4, companies: 3 }), /4 of this company before it, 3 companies sharing/],
    ['ready alone', 'PENDING', {}, ready(), /0 of this company before it, 1 company sharing/],
    ['ready behind many', 'PENDING', {}, ready({ ahead: 1001 }), /more than 1000 of this company/],
    ['scheduled', 'PENDING', { nextAttemptAt: LATER }, null, /Scheduled for 2026-01-23T10:00:30\.000Z/],
    ['paused', 'PENDING', {}, paused, /paused \(bounce rate above 5 %\)/],
    ['neither ready nor scheduled', 'PENDING', {}, null, /Waiting to become ready/],
    ['under way', 'PROCESSING', { attempts: 2 }, null, /attempt 2 of 5 is under way/],
    [
      'waiting to retry',
      'RETRY_SCHEDULED',
      {},
      null,
      /^Attempt 2 of 5 at 2026-01-23T10:00:30\.000Z because capture limits its send rate \(SES_THROTTLING: Maximum.*no attempt/,
    ],
    [
      'waiting to retry after a failure',
      'RETRY_SCHEDULED',
      {
        lastError: {
          code: 'SES_INTERNAL_ERROR',
          providerCode: 'InternalFailure',
          category: 'TRANSIENT_ERROR',
          message: 'oops.',
        },
      },
      null,
      /^Attempt 2 of 5 at 2026-01-23T10:00:30\.000Z because capture answered SES_INTERNAL_ERROR: oops\./,
    ],
    [
      'put off by an SMTP server',
      'RETRY_SCHEDULED',
      {
        maxAttempts: 48,
        lastError: {
          code: 'SMTP_MAILBOX_BUSY',
          providerCode: null,
          category: 'TRANSIENT_ERROR',
          message: 'greylisted',
        },
      },
      null,
      /^Attempt 2 \(repeated until it expires at 2026-\S+\) at 2026-01-23T10:00:30\.000Z because capture answered SMTP_MAILBOX_BUSY/,
    ],
    [
      'waiting for a connection',
      'RETRY_SCHEDULED',
      {
        lastError: {
          code: 'NETWORK_ERROR',
          providerCode: 'ECONNREFUSED',
          category: 'TRANSIENT_ERROR',
          message: 'connect ECONNREFUSED',
        },
      },
      null,
      /because there was no connection to capture \(NETWORK_ERROR: connect ECONNREFUSED\), which spends no attempt/,
    ],
    ['due to retry', 'RETRY_SCHEDULED', {}, ready({ ahead: 2 }), /2 of this company before it/],
    ['sent', 'SENT', {}, null, /Accepted by capture at 2026-01-23T10:00:00\.000Z as m-1/],
    ['delivered', 'DELIVERED', {}, null, /at 2026-01-23T10:00:30\.000Z/],
    ['refused', 'REJECTED', {}, null, /Refused by the provider.*SES_THROTTLING: Maximum/],
    ['exhausted', 'DLQ', {}, null, /after 5 attempts.*SES_THROTTLING/],
  ])('%s', (_, status, more, queuePosition, expected) => {
    expect(explainEmail(email(status, more), where({ queuePosition })).summary).toMatch(expected)
  })

  test('a retry of a paused company is held, not sent when its turn comes', () => {
    const explanation = explainEmail(email('RETRY_SCHEDULED'), where({ queuePosition: paused }))
    expect(sentences(explanation)).toMatch(/paused/)
    expect(explanation.next).not.toMatch(/when its turn comes/)
  })

  test('mail of parked providers is held, and the text says why and until when', () => {
    for (const status of ['PENDING', 'RETRY_SCHEDULED'] as const) {
      const explanation = explainEmail(email(status), where({ queuePosition: ready(), parked: PARKED }))
      expect(explanation.summary).toMatch(
        /^Held: provider ses parked since 2026-01-23T10:00:00.000Z because of SES_DAILY_QUOTA_EXCEEDED/,
      )
      expect(explanation).toMatchObject({ nextAt: LATER, parkedProviders: ['ses'] })
    }
  })

  test('an unknown outcome gives the reason, and what its policy does at which time', () => {
    const resend = explainEmail(email('UNKNOWN'), where({ unknown: UNKNOWN_SEND }))
    expect(resend.summary).toMatch(/ses did not answer in time after the message had left/)
    expect(resend).toMatchObject({ next: expect.stringContaining('tried again at'), nextAt: LATER })
    const held = explainEmail(email('UNKNOWN'), where({ unknown: { ...UNKNOWN_SEND, onUnknown: 'hold' } }))
    expect(held.next).toMatch(/never sent twice/)
  })

  const claimed = { kind: 'work', holder: 'a:1', expired: false, silent: false } as const

  test('an e-mail in flight names the queue or its worker', () => {
    expect(explainEmail(email('PENDING'), where({ inFlight: { ...claimed, kind: 'dispatch' } })).summary).toMatch(
      /On the queue/,
    )
    expect(explainEmail(email('PENDING'), where({ inFlight: claimed })).summary).toMatch(/worker a:1/)
  })

  test.each([
    ['its lease has expired', { inFlight: { ...claimed, expired: true } }],
    ['it has not been heard of for 15 seconds', { inFlight: { ...claimed, silent: true } }],
    ['no worker is running', { inFlight: claimed, workersAlive: false }],
  ])('an e-mail that is being sent while %s has lost its worker', (why, location) => {
    const explanation = explainEmail(email('PROCESSING'), where(location))
    expect(explanation.summary).toBe(`Attempt 1 of 5 by capture was begun, and its worker is lost: ${why}.`)
    expect(explanation).toMatchObject({ nextStep: 'lost', next: expect.stringMatching(/^It becomes UNKNOWN when/) })
    expect(explainEmail(email('PENDING'), where(location)).summary).toMatch(/^Claimed by worker a:1, which is lost/)
  })

  test('mail that goes through Redis says so, because Redis may be away', () => {
    const explanation = explainEmail(email('PENDING'), where({ queuePosition: ready(), throughRedis: true }))
    expect(explanation.next).toMatch(/through Redis; email-gateway doctor shows/)
  })

  test('nobody is advised to wait for events that do not come', () => {
    const silent = where({ eventsExpected: false })
    expect(explainEmail(email('SENT', { provider: 'smtp' }), silent).next).toMatch(/last status: smtp reports nothing/)
    expect(explainEmail(email('SENT', { provider: 'ses' }), silent).next).toMatch(/events of ses are not set up/)
    const nextAfter = (onUnknown: 'resend' | 'hold') =>
      explainEmail(email('UNKNOWN'), where({ eventsExpected: false, unknown: { ...UNKNOWN_SEND, onUnknown } })).next
    expect(nextAfter('hold')).toMatch(
      /^No provider event will come: an operator moves it \(email-gateway email resolve\)/,
    )
    expect(nextAfter('resend')).toMatch(/^It is tried again at .* unless an operator says .*email resolve/)
  })

  test('what was sent again after an unknown outcome may have arrived twice', () => {
    for (const status of ['SENT', 'DELIVERED'] as const) {
      expect(explainEmail(email(status), where({ sentAgain: true })).summary).toMatch(/may have arrived twice\.$/)
      expect(explainEmail(email(status), where()).summary).not.toMatch(/twice/)
    }
  })

  test('purged content cannot be replayed, and the text says so', () => {
    for (const status of ['DLQ', 'FAILED', 'REJECTED', 'EXPIRED'] as const)
      expect(explainEmail(email(status), where({ contentGone: true })).next).toMatch(/no longer be replayed/)
  })

  test('the time of the next step is given as a field too', () => {
    expect(explainEmail(email('PENDING', { nextAttemptAt: LATER }), where()).nextAt).toBe(LATER)
    expect(explainEmail(email('RETRY_SCHEDULED'), where()).nextAt).toBe(LATER)
    expect(explainEmail(email('SENT'), where()).nextAt).toBeNull()
  })

  test('the next step is given as a code, too', () => {
    const stepOf = (status: EmailStatus, location: Partial<EmailLocation> = {}, change: Partial<EmailSummary> = {}) =>
      explainEmail(email(status, change), where(location)).nextStep
    expect(stepOf('PENDING', { queuePosition: ready() })).toBe('turn')
    expect(stepOf('PENDING', { queuePosition: ready(), workersAlive: false })).toBe('no-worker')
    expect(stepOf('PENDING', { queuePosition: paused })).toBe('resume')
    expect(stepOf('PENDING', {}, { nextAttemptAt: LATER })).toBe('due')
    expect(stepOf('EXPIRED')).toBe('replay-expired')
    expect(stepOf('DLQ', { contentGone: true })).toBe('purged')
    expect(stepOf('DELIVERED')).toBeNull()
    expect(explainEmail(email('PENDING'), where({ queuePosition: paused })).pauseReason).toBe('bounce rate above 5 %')
  })

  test('the queue position is given as fields too', () => {
    const queuePosition = ready({ ahead: 7, companies: 2 })
    expect(explainEmail(email('PENDING'), where({ queuePosition }))).toMatchObject({
      aheadInCompany: 7,
      companiesSharing: 2,
    })
    expect(explainEmail(email('SENT'), where())).toMatchObject({ aheadInCompany: null, companiesSharing: null })
  })

  test('a final status has no next step', () => {
    for (const status of ['DELIVERED', 'COMPLAINED', 'CANCELLED'] as const)
      expect(explainEmail(email(status), where()).next).toBeNull()
  })

  test('what bounced or was suppressed can be sent again, as long as its content is there', () => {
    const again = 'It can be sent again (resend) once the address works and is not suppressed.'
    expect(explainEmail(email('BOUNCED'), where()).next).toBe(again)
    expect(explainEmail(email('BOUNCED'), where({ contentGone: true })).next).toBeNull()
  })
})

test.each([
  [null, null],
  [['SES_DOWN', 'TEMPORARY_ERROR'], 'failed'],
  [['SES_THROTTLED', 'QUOTA_ERROR'], 'throttled'],
  [['SMTP_RATE_LIMITED', 'QUOTA_ERROR'], 'failed'],
  [['NETWORK_ERROR', 'TEMPORARY_ERROR'], 'unconnected'],
] as const)('why there is another attempt is a code: after %j it is %s', (error, because) => {
  const lastError = error && { code: error[0], category: error[1], providerCode: null, message: 'Slow down' }
  const { state, retry } = explainInCodes(email('RETRY_SCHEDULED', { lastError }), where())
  expect(state).toEqual({ code: 'scheduled', at: LATER })
  expect(retry).toEqual({ attempt: 2, of: 5, because })
})

test('only an e-mail that waits for another attempt has one', () => {
  expect(explainInCodes(email('PENDING', { nextAttemptAt: LATER }), where()).retry).toBeNull()
})
