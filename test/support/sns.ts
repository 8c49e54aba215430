import { execFileSync } from 'node:child_process'
import { createSign, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signedText } from '../../src/providers/ses/sns.ts'

export const TOPIC = 'arn:aws:sns:us-east-1:123456789012:email-events'
export const CERT_FILE = 'SimpleNotificationService-0123456789abcdef0123456789abcdef.pem'
export const CERT_URL = `https://sns.us-east-1.amazonaws.com/${CERT_FILE}`

export type SnsFields = Record<string, unknown>
export type Signer = {
  /** A folder for SNS_CERT_DIR with the certificate under the last part of CERT_URL. */
  directory: string
  certificate: string
  key: string
  /** Signs what is there, as it is there. */
  sign: (fields: SnsFields, version?: '1' | '2') => SnsFields
  remove: () => void
}

/** A key and a certificate of these minutes, made by openssl, small because making a large one takes seconds; nothing of it is kept. */
export function makeSigner(subject = '/CN=sns.amazonaws.com', file = CERT_FILE): Signer {
  const directory = mkdtempSync(join(tmpdir(), 'email-gateway-sns-'))
  const keyFile = join(directory, 'key.pem')
  const certFile = join(directory, file)
  const request = ['req', '-x509', '-newkey', 'rsa:1024', '-nodes', '-days', '2', '-subj', subject]
  execFileSync('openssl', [...request, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
  const key = readFileSync(keyFile, 'utf8')
  return {
    directory,
    certificate: readFileSync(certFile, 'utf8'),
    key,
    sign: (fields, version = '1') => ({
      ...fields,
      SignatureVersion: version,
      Signature: signature(fields, version, key),
    }),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

function signature(fields: SnsFields, version: '1' | '2', key: string): string {
  const text = signedText(fields as SnsFields & { Type: 'Notification' })
  return createSign(version === '1' ? 'RSA-SHA1' : 'RSA-SHA256')
    .update(text)
    .sign(key, 'base64')
}

/** As SNS writes it, but for the signature. */
export function notification(message: unknown, change: SnsFields = {}): SnsFields {
  return {
    Type: 'Notification',
    MessageId: randomUUID(),
    TopicArn: TOPIC,
    Subject: 'Amazon SES Email Event Notification',
    Message: typeof message === 'string' ? message : JSON.stringify(message),
    Timestamp: new Date().toISOString(),
    SigningCertURL: CERT_URL,
    UnsubscribeURL: `https://sns.us-east-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=${TOPIC}:${randomUUID()}`,
    ...change,
  }
}

export function confirmation(change: SnsFields = {}): SnsFields {
  const token = '2336412f37fb687f5d51e6e241d638b114'.repeat(4)
  return {
    Type: 'SubscriptionConfirmation',
    MessageId: randomUUID(),
    Token: token,
    TopicArn: TOPIC,
    Message: `You have chosen to subscribe to the topic ${TOPIC}.`,
    SubscribeURL: `https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=${token}`,
    Timestamp: new Date().toISOString(),
    SigningCertURL: CERT_URL,
    ...change,
  }
}
