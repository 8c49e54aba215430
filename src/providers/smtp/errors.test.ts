import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseSmtpReply, SMTP_ENHANCED_STATUSES, SMTP_REPLIES, smtpRule } from './errors.ts'

test.each(SMTP_REPLIES)('%s is %s', (code, name, category) => {
  expect(smtpRule({ code })).toMatchObject({ code: name, category, retryable: code.startsWith('4') })
})

test.each(SMTP_ENHANCED_STATUSES)('%s is %s', (enhanced, name, category) => {
  expect(smtpRule({ enhanced })).toMatchObject({ code: name, category, retryable: enhanced.startsWith('4') })
})

test('the codes of the published contract are all there', () => {
  const known = new Set(SMTP_REPLIES.map(([code]) => code))
  const wanted = '421 450 451 452 454 455 500 501 502 503 504 521 530 534 535 541 550 551 552 553 554 555 556'
  expect(wanted.split(' ').filter(code => !known.has(code))).toEqual([])
})

describe('the enhanced status', () => {
  test('decides against the reply code', () => {
    expect(smtpRule({ code: '550', enhanced: '4.2.2' })).toMatchObject({
      code: 'SMTP_MAILBOX_FULL_FOR_NOW',
      retryable: true,
    })
    expect(smtpRule({ code: '421', enhanced: '5.7.1' })).toMatchObject({
      code: 'SMTP_REJECTED_BY_POLICY',
      retryable: false,
    })
  })

  test('names the cause more exactly than the reply code', () => {
    expect(smtpRule({ code: '550', enhanced: '5.1.1' })?.code).toBe('SMTP_MAILBOX_NOT_FOUND')
    expect(smtpRule({ code: '552', enhanced: '5.2.2' })?.code).toBe('SMTP_MAILBOX_FULL')
  })

  test('without a meaning of its own leaves the name to the reply code', () => {
    expect(smtpRule({ code: '553', enhanced: '5.0.0' })?.code).toBe('SMTP_MAILBOX_NAME_NOT_ALLOWED')
    expect(smtpRule({ code: '553', enhanced: '4.9.9' })?.code).toBe('SMTP_TEMPORARY_FAILURE')
  })

  test('is ignored for credentials: 535 is about the gateway’s own login, whatever follows', () => {
    for (const enhanced of ['5.7.8', '5.7.1', '5.7.3', '5.0.0']) {
      expect(smtpRule({ code: '535', enhanced })).toMatchObject({ code: 'SMTP_AUTH_FAILED', effect: 'open-breaker' })
    }
  })

  test('about a login beside another reply code is a refusal of the recipient, which parks nobody', () => {
    for (const enhanced of ['5.7.8', '5.7.9', '5.7.11'])
      expect(smtpRule({ code: '550', enhanced })).toMatchObject({ code: 'SMTP_REJECTED_BY_POLICY', retryable: false })
    expect(smtpRule({ code: '550', enhanced: '5.7.8' })?.effect).toBeUndefined()
  })

  test('of a success is no error status', () => {
    expect(smtpRule({ code: '550', enhanced: '2.0.0' })?.code).toBe('SMTP_MAILBOX_UNAVAILABLE')
    expect(smtpRule({ code: '250', enhanced: '2.0.0' })).toBeUndefined()
  })

  test('decides for every code and status there can be', () => {
    const digit = fc.constantFrom('4', '5')
    fc.assert(
      fc.property(
        digit,
        fc.integer({ min: 0, max: 99 }),
        digit,
        fc.nat(9),
        fc.nat(99),
        (a, rest, b, subject, detail) => {
          const code = a + String(rest).padStart(2, '0')
          const enhanced = `${b}.${subject}.${detail}`
          expect(smtpRule({ code, enhanced })?.retryable).toBe(b === '4')
          expect(smtpRule({ code })?.retryable).toBe(a === '4')
        },
      ),
    )
  })
})

describe('parseSmtpReply reads', () => {
  test.each([
    ['421', { code: '421' }],
    ['4.7.0', { enhanced: '4.7.0' }],
    ['550 5.1.1 user unknown', { code: '550', enhanced: '5.1.1' }],
    ['550-5.1.1 line one\r\n550 5.1.1 line two', { code: '550', enhanced: '5.1.1' }],
    ['smtp; 550 5.1.1 user unknown', { code: '550', enhanced: '5.1.1' }],
    ['Message failed: 554 5.7.1 refused', { code: '554', enhanced: '5.7.1' }],
    ['SMTP Error 421: Connection timeout', { code: '421' }],
    ['454 Throttling failure: Daily message quota exceeded', { code: '454' }],
  ])('%j', (text, reply) => {
    expect(parseSmtpReply(text)).toEqual(reply)
  })

  test.each(['', '250 2.0.0 OK', '5500', '5.1', 'connect ECONNREFUSED 127.0.0.1:587', 'MessageRejected', '4.7.0.1'])(
    'nothing in %j',
    text => {
      expect(parseSmtpReply(text)).toBeUndefined()
    },
  )
})
