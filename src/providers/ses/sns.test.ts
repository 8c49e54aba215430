import { describe, expect, test } from 'vitest'
import { certificateLocation, regionOfArn, signedText, snsHost } from './sns.ts'

describe('the text that SNS signs', () => {
  const message = {
    Message: 'Hello\nworld',
    MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
    Timestamp: '2012-05-02T00:54:06.655Z',
    TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
    SigningCertURL:
      'https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem',
  }

  test('of a notification, with and without a subject, as in the AWS documentation', () => {
    const start = 'Message\nHello\nworld\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\n'
    const end =
      'Timestamp\n2012-05-02T00:54:06.655Z\nTopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nNotification\n'
    expect(signedText({ ...message, Type: 'Notification' })).toBe(start + end)
    expect(signedText({ ...message, Type: 'Notification', Subject: 'My' })).toBe(`${start}Subject\nMy\n${end}`)
  })

  test('of a confirmation contains its link and its token', () => {
    const text = signedText({ ...message, Type: 'SubscriptionConfirmation', SubscribeURL: 'https://x', Token: 't' })
    expect(text).toContain('\nSubscribeURL\nhttps://x\nTimestamp\n')
    expect(text).toContain('\nToken\nt\nTopicArn\n')
  })
})

test('the certificate is at the host of its region, in China under amazonaws.com.cn', () => {
  expect(snsHost('eu-west-1')).toBe('sns.eu-west-1.amazonaws.com')
  const url = 'https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-ab12.pem'
  expect(certificateLocation(url, 'cn-north-1')).toEqual({
    url,
    host: 'sns.cn-north-1.amazonaws.com.cn',
    region: 'cn-north-1',
    file: 'SimpleNotificationService-ab12.pem',
  })
  expect(() => certificateLocation(url, 'us-east-1')).toThrow(/SigningCertURL must be/)
})

test.each([
  ['arn:aws:sns:us-east-1:123456789012:events', 'us-east-1'],
  ['arn:aws-cn:sns:cn-north-1:123456789012:events', 'cn-north-1'],
  ['arn:aws:sns:us-east-1:123456789012:events.fifo', 'us-east-1'],
  ['arn:aws:sqs:us-east-1:123456789012:events', null],
  ['arn:aws:sns:us-east-1@evil.example/:1:x', null],
])('%s is in %s', (arn, region) => expect(regionOfArn(arn)).toBe(region))
