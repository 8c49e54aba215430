import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** The format of Standard Webhooks: the prefix and the HMAC key in base64. */
export function makeWebhookSecret(random: (size: number) => Buffer = randomBytes): string {
  return PREFIX + random(SECRET_BYTES).toString('base64')
}

export type SignedHeaders = { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string }

/** Resend's documentation reads the headers by the names of Svix; the values are those of Standard Webhooks. */
export function withSvixNames(signed: SignedHeaders): Record<string, string> {
  return {
    ...signed,
    'svix-id': signed['webhook-id'],
    'svix-timestamp': signed['webhook-timestamp'],
    'svix-signature': signed['webhook-signature'],
  }
}

/** Standard Webhooks: one signature per valid secret, so that a receiver can change to a new secret at any time. */
export function signWebhook(id: string, body: string, secrets: readonly string[], now: Date): SignedHeaders {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}
