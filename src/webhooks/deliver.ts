import { createHmac, randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { memoize } from '../platform/cache.ts'
import { decrypt, type KeyRing } from '../platform/encryption.ts'
import { maskSensitive } from '../platform/text/masking.ts'
import { buildResendBody, buildWebhookBody } from './body.ts'
import type { ClaimedDelivery, EventFacts } from './claim.ts'
import type { Post, Posted } from './request.ts'
import { type DeliveryDecision, decideAfterWebhook } from './schedule.ts'
import type { WebhookSettlement } from './settle.ts'

export type NotifyDeps = {
  post: Post
  readSecret: ReadSecret
  userAgent: string
  random: () => number
  now: () => Date
}

/** Decrypts a stored signing secret. Throws when the key that it was encrypted with is no longer in ENCRYPTION_KEY. */
export type ReadSecret = (cipher: Buffer, companyId: string) => string

const CACHED_SECRETS = 5_000
const UUID_CHARS = 36

/** Step 6: one attempt to deliver a signed webhook to a company. */
export async function notifyCompany(
  delivery: ClaimedDelivery,
  facts: EventFacts | null,
  deps: NotifyDeps,
): Promise<Notified> {
  const { post, readSecret, random } = deps
  if (delivery.eventId !== null && delivery.body === null && facts === null) return nothingToSend(delivery)
  const body = delivery.body ?? makeBody(delivery, facts)
  const secrets = readSecrets(delivery, readSecret)
  const posted = secrets ? await post(delivery.url, headersOf(delivery, body, secrets, facts, deps), body) : UNSIGNED
  return { delivery, posted, decision: decideAfterWebhook(posted, delivery.attempts + 1, random), body }
}

/** null: they cannot be decrypted, because their key is no longer in ENCRYPTION_KEY. The delivery is retried: the key may be put back. */
function readSecrets({ secretCipher, previousCipher, companyId }: ClaimedDelivery, read: ReadSecret): string[] | null {
  try {
    const ciphers = previousCipher ? [secretCipher, previousCipher] : [secretCipher]
    return ciphers.map(cipher => read(cipher, companyId))
  } catch {
    return null
  }
}

/** Caches decrypted secrets, since an endpoint keeps its secret for months. */
export function secretReader(keys: KeyRing): ReadSecret {
  const read = memoize(CACHED_SECRETS, (key: string) => {
    const [companyId, box] = [key.slice(0, UUID_CHARS), Buffer.from(key.slice(UUID_CHARS), 'latin1')]
    return decrypt(box, keys, { companyId, column: 'webhook_endpoints.secret' })
  })
  return (cipher, companyId) => read(companyId + cipher.toString('latin1'))
}

const NOT_POSTED = { status: null, retryAfterMs: null, answer: '', durationMs: 0, ourFault: true } as const
const UNSIGNED: Posted = { ...NOT_POSTED, error: 'SECRET_UNREADABLE' }

function headersOf(
  { deliveryId, format }: ClaimedDelivery,
  body: string,
  secrets: string[],
  facts: EventFacts | null,
  { userAgent, now }: NotifyDeps,
): Record<string, string> {
  const signed = signWebhook(`msg_${deliveryId}`, body, secrets, now())
  return {
    ...(format === 'resend' ? withSvixNames(signed) : signed),
    'content-type': 'application/json',
    'user-agent': userAgent,
    ...(facts?.traceparent && { traceparent: facts.traceparent }),
  }
}

/** Retention has deleted the e-mail and its events, so no body can be made. */
function nothingToSend(delivery: ClaimedDelivery): Notified {
  const posted = { ...NOT_POSTED, error: 'EVENT_GONE' }
  return { delivery, posted, decision: { kind: 'failed', ourFault: true, pauseMs: 0 }, body: '' }
}

export type DeliveryFacts = Pick<ClaimedDelivery, 'type' | 'sequence' | 'companyId' | 'data' | 'timestamp' | 'format'>

export function makeBody(delivery: DeliveryFacts, facts: EventFacts | null): string {
  const { type, sequence, companyId, data, timestamp, format } = delivery
  const build = format === 'resend' ? buildResendBody : buildWebhookBody
  return build({ type, sequence, companyId, data, timestamp: facts?.timestamp ?? timestamp, email: facts })
}

/** The result of one attempt to deliver a webhook. */
export type Notified = { delivery: ClaimedDelivery; posted: Posted; decision: DeliveryDecision; body: string }

export function toWebhookSettlement({ delivery, posted, decision, body }: Notified): WebhookSettlement {
  return {
    endpointId: delivery.endpointId,
    deliveryId: delivery.deliveryId,
    attempts: delivery.attempts,
    outcome: decision.kind,
    retryDelayMs: decision.kind === 'retry' ? decision.delayMs : null,
    body: decision.kind === 'retry' ? body : null,
    status: posted.status,
    error: errorOf(posted, decision),
    // The response may echo personal data, and Postgres cannot store NUL.
    answer: maskSensitive(posted.answer).replaceAll('\0', ''),
    durationMs: posted.durationMs,
  }
}

function errorOf({ status, error }: Posted, { kind }: DeliveryDecision): string | null {
  if (error !== null) return error
  if (kind === 'delivered') return null
  return status !== null && status >= 300 && status < 400 ? 'REDIRECT_NOT_FOLLOWED' : `HTTP_${status}`
}

/** Logs neither the URL nor the body: both may hold secrets. */
export function logDelivery(log: Logger, { delivery, posted, decision }: Notified): void {
  const { companyId, endpointId, deliveryId, type, outboxId, attempts } = delivery
  log.debug(
    {
      companyId,
      webhookId: endpointId,
      deliveryId,
      type,
      outboxId,
      attempt: attempts + 1,
      status: posted.status,
      errorCode: posted.error,
      durationMs: posted.durationMs,
      outcome: decision.kind,
    },
    'Webhook attempt finished',
  )
}

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
