import { decrypt, type KeyRing } from '../contracts/encryption.ts'
import { buildResendBody } from '../contracts/resend/webhook-body.ts'
import { buildWebhookBody } from '../contracts/webhooks/body.ts'
import { decideAfterWebhook } from '../contracts/webhooks/schedule.ts'
import { signWebhook, withSvixNames } from '../contracts/webhooks/signature.ts'
import type { ClaimedDelivery, EventFacts } from '../db/webhooks/claim.ts'
import { memoize } from '../runtime/memoize.ts'
import type { Notified } from '../webhooks/notified.ts'
import type { Post, Posted } from '../webhooks/request.ts'

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
