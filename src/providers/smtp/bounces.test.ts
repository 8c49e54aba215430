import { describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../../test/support/growth.ts'
import { smtpBounce } from './errors.ts'

describe('no such mailbox: a permanent bounce', () => {
  test.each([
    '550 5.1.1 <ana@example.com>: Recipient address rejected: User unknown in virtual mailbox table',
    '550-5.1.1 The email account that you tried to reach does not exist.\r\n550 5.1.1 Please try again',
    '550 5.1.0 Address rejected',
    '550 5.1.2 Host or domain name not found',
    '553 5.1.3 bad destination mailbox address syntax',
    '551 5.1.6 moved',
    '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found',
    '556 the domain takes no mail',
    '550 No such user here',
    '550 Unknown user',
    '550 mailbox not found',
    '550 Requested action not taken: mailbox does not exist',
    '550 5.0.0 ana@example.com... User unknown',
    '554 delivery error: This user doesn’t exist',
  ])('%s', reply => {
    expect(smtpBounce(reply)).toEqual({ bounceType: 'Permanent', bounceSubType: 'NoEmail' })
  })
})

describe('any other refusal suppresses no address', () => {
  test.each([
    ['550 5.7.1 Message rejected due to policy', 'Undetermined'],
    ['554 5.7.1 <ana@example.com>: Relay access denied', 'Undetermined'],
    ['550 relay not permitted', 'Undetermined'],
    ['550 relaying denied, user unknown', 'Undetermined'],
    ['550 5.7.26 unauthenticated mail', 'Undetermined'],
    ['550 5.7.1 user unknown', 'Undetermined'],
    ['550 5.1.8 sender address rejected: domain not found', 'Undetermined'],
    ['550 5.1.7 <news@acme.test>: sender unknown', 'Undetermined'],
    ['550 sender address not found', 'Undetermined'],
    ['552 5.2.2 mailbox full', 'Transient'],
    ['552 5.3.4 message too large', 'Undetermined'],
    ['550 5.2.1 mailbox disabled', 'Undetermined'],
    ['550 your IP is on a blacklist', 'Undetermined'],
    ['550 ', 'Undetermined'],
    ['571 5.0.0 blocked', 'Undetermined'],
    ['', 'Undetermined'],
    ['450 4.2.0 greylisted', 'Transient'],
    ['452 4.2.2 mailbox full', 'Transient'],
    ['450 4.1.1 user unknown for now', 'Transient'],
    ['550 4.2.2 mailbox full', 'Transient'],
  ])('%s', (reply, bounceType) => {
    expect(smtpBounce(reply).bounceType).toBe(bounceType)
  })

  test('a long reply takes linear time', () => {
    expectLinearTime(size => `550 ${'user '.repeat(size / 5)}`, 1_000_000, smtpBounce)
  }, 60_000)
})
