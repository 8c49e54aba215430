import { describe, expect, test } from 'vitest'
import { certificatePlace, regionOfArn, signedText, snsHost } from './sns.ts'

describe('what SNS signs', () => {
  const message = {
    Message: 'Hello\nworld',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    Timestamp: '2012-05-02T00:54:06.655Z',
    TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
    SigningCertURL:
      'https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem',
  }

  test('a notification, with and without a subject, as the AWS documentation writes it down', () => {
    const start = 'Message\nHello\nworld\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\n'
    const end =
      'Timestamp\n2012-05-02T00:54:06.655Z\nTopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nNotification\n'
    expect(signedText({ ...message, Type: 'Notification' })).toBe(start + end)
    expect(signedText({ ...message, Type: 'Notification', Subject: 'My' })).toBe(`${start}Subject\nMy\n${end}`)
  })

  test('a confirmation has its link and its token in it', () => {
    const text = signedText({ ...message, Type: 'SubscriptionConfirmation', SubscribeURL: 'https://x', Token: 't' })
    expect(
      text.split('\n').filter((_, place) => place > 0 && !['Hello', 'world'].includes(text.split('\n')[place]!)),
    ).toContain('SubscribeURL')
    expect(text).toContain('\nSubscribeURL\nhttps://x\nTimestamp\n')
    expect(text).toContain('\nToken\nt\nTopicArn\n')
  })
})

test('the certificate lies at the host of its region, China’s in China', () => {
  expect(snsHost('eu-west-1')).toBe('sns.eu-west-1.amazonaws.com')
  const url = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-ab12.pem'
  expect(certificatePlace(url, 'cn-north-1')).toEqual({
    url,
    host: 'sns.cn-north-1.amazonaws.com.cn',
    region: 'cn-north-1',
    file: 'SimpleNotificationService-ab12.pem',
  })
  expect(() => certificatePlace(url, 'us-east-1')).toThrow(/SigningCertURL must be/)
})

test.each([
  ['arn:aws:sns:us-east-1:123456789012:events', 'us-east-1'],
  ['arn:aws-cn:sns:cn-north-1:123456789012:events', 'cn-north-1'],
  ['arn:aws:sns:us-east-1:123456789012:events.fifo', 'us-east-1'],
  ['arn:aws:sqs:us-east-1:123456789012:events', null],
  ['arn:aws:sns:us-east-1@evil.example/:1:x', null],
])('%s is in %s', (arn, region) => expect(regionOfArn(arn)).toBe(region))
