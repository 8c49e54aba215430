import { execFileSync } from 'node:child_process'
import { createSign, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { signedText } from '../../src/providers/ses/sns.ts'
import { temporaryFolder } from './processes.ts'

export const TOPIC = 'arn:aws:sns:us-east-1:123456789012:email-events'
const FILE = 'SimpleNotificationService-0123456789abcdef0123456789abcdef.pem'

export type SnsSigner = { directory: string; sign: (payload: string) => string }

/** A key of this run, whose certificate SNS_CERT_DIR points at. */
export function makeSnsSigner(): SnsSigner {
  const directory = temporaryFolder()
  const keyFile = join(directory, 'key.pem')
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=sns.amazonaws.com']
  execFileSync('openssl', [...made, '-keyout', keyFile, '-out', join(directory, FILE)], { stdio: 'ignore' })
  const key = readFileSync(keyFile, 'utf8')
  return { directory, sign: payload => signed(payload, key) }
}

/** The body that SNS would post. */
function signed(payload: string, key: string): string {
  const fields = {
    Type: 'Notification' as const,
    MessageId: randomUUID(),
    TopicArn: TOPIC,
    Subject: 'Amazon SES Email Event Notification',
    Message: payload,
    Timestamp: new Date().toISOString(),
    SignatureVersion: '2',
    SigningCertURL: `https://sns.us-east-1.amazonaws.com/${FILE}`,
    UnsubscribeURL: `https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=${TOPIC}:${randomUUID()}`,
  }
  return JSON.stringify({
    ...fields,
    Signature: createSign('RSA-SHA256').update(signedText(fields)).sign(key, 'base64'),
  })
}

/** A delivery as SES publishes it, of about the usual size. */
export function deliveryOf(outboxId: string, to: string): string {
  const now = new Date().toISOString()
  const messageId = `0100018d1234abcd-${outboxId}-000000`
  return JSON.stringify({
    eventType: 'Delivery',
    mail: {
      timestamp: now,
      source: 'Shop <noreply@example.com>',
      sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/example.com',
      sendingAccountId: '123456789012',
      messageId,
      destination: [to],
      headersTruncated: false,
      headers: ['From', 'To', 'Subject', 'MIME-Version', 'Content-Type'].map(name => ({
        name,
        value: `value of ${name}`,
      })),
      commonHeaders: { from: ['Shop <noreply@example.com>'], to: [to], messageId, subject: 'Seu boleto' },
      tags: {
        'ses:operation': ['SendEmail'],
        'ses:configuration-set': ['email-gateway'],
        'ses:source-ip': ['203.0.113.7'],
        'ses:from-domain': ['example.com'],
        'ses:caller-identity': ['email-gateway'],
        outbox_id: [outboxId],
      },
    },
    delivery: {
      timestamp: now,
      processingTimeMillis: 4567,
      recipients: [to],
      smtpResponse: '250 2.0.0 OK  1706012410 abc123.456.xyz - gsmtp',
      remoteMtaIp: '198.51.100.7',
      reportingMTA: 'a8-123.smtp-out.amazonses.com',
    },
  })
}
