import { decrypt, type KeyRing } from '../contracts/encryption.ts'
import { maskSensitive } from '../contracts/masking.ts'
import { buildWebhookBody } from '../contracts/webhooks/body.ts'
import { type AttemptVerdict, decideAfterWebhook } from '../contracts/webhooks/schedule.ts'
import { signWebhook } from '../contracts/webhooks/signature.ts'
import type { ClaimedDelivery, EventFacts } from '../db/webhooks/claim.ts'
import type { WebhookSettlement } from '../db/webhooks/settle.ts'
import { memoize } from '../runtime/memoize.ts'
import type { Post, Posted } from '../webhooks/request.ts'

export type NotifyDeps = { post: Post; readSecret: ReadSecret; random: () => number; now: () => Date }

/** The secret that signs, of what is stored. Throws when the key that it was encrypted with is gone. */
export type ReadSecret = (cipher: Buffer, companyId: string) => string

export type Notified = { delivery: ClaimedDelivery; posted: Posted; verdict: AttemptVerdict; body: string }

const REMEMBERED_SECRETS = 5_000
const UUID_CHARS = 36
const USER_AGENT = 'Email-Gateway-Webhooks/1'

/** Step 5 of the line: what became of an e-mail, told to its company. One attempt, from the body to the verdict. */
export async function notifyCompany(
  delivery: ClaimedDelivery,
  facts: EventFacts | null,
  { post, readSecret, random, now }: NotifyDeps,
): Promise<Notified> {
  if (delivery.eventId !== null && delivery.body === null && facts === null) return nothingToSend(delivery)
  const body = delivery.body ?? makeBody(delivery, facts)
  const secrets = readSecrets(delivery, readSecret)
  const posted = secrets ? await post(delivery.url, headersOf(delivery, body, secrets, now()), body) : UNSIGNED
  return { delivery, posted, verdict: decideAfterWebhook(posted, delivery.attempts + 1, random), body }
}

/** null: the key that they were encrypted with is gone from ENCRYPTION_KEY. It may come back, as a receiver may. */
function readSecrets({ secretCipher, previousCipher, companyId }: ClaimedDelivery, read: ReadSecret): string[] | null {
  try {
    const ciphers = previousCipher ? [secretCipher, previousCipher] : [secretCipher]
    return ciphers.map(cipher => read(cipher, companyId))
  } catch {
    return null
  }
}

/** An endpoint signs with one secret for months. */
export function secretReader(keys: KeyRing): ReadSecret {
  const read = memoize(REMEMBERED_SECRETS, (key: string) => {
    const [companyId, box] = [key.slice(0, UUID_CHARS), Buffer.from(key.slice(UUID_CHARS), 'latin1')]
    return decrypt(box, keys, { companyId, column: 'webhook_endpoints.secret' })
  })
  return (cipher, companyId) => read(companyId + cipher.toString('latin1'))
}

const UNSIGNED: Posted = { status: null, error: 'SECRET_UNREADABLE', retryAfterMs: null, answer: '', durationMs: 0 }

function headersOf({ deliveryId }: ClaimedDelivery, body: string, secrets: string[], at: Date): Record<string, string> {
  const signed = signWebhook(`msg_${deliveryId}`, body, secrets, at)
  return { ...signed, 'content-type': 'application/json', 'user-agent': USER_AGENT }
}

/** The e-mail and its events have been dropped since: its time of keeping is over. */
function nothingToSend(delivery: ClaimedDelivery): Notified {
  const posted = { status: null, error: 'EVENT_GONE', retryAfterMs: null, answer: '', durationMs: 0 }
  return { delivery, posted, verdict: { kind: 'failed', ours: true, pauseMs: 0 }, body: '' }
}

function makeBody({ type, sequence, companyId, data, timestamp }: ClaimedDelivery, facts: EventFacts | null): string {
  return buildWebhookBody({
    type,
    sequence,
    companyId,
    data,
    timestamp: facts?.timestamp ?? timestamp,
    email: facts,
  })
}

export function toWebhookSettlement({ delivery, posted, verdict, body }: Notified): WebhookSettlement {
  return {
    endpointId: delivery.endpointId,
    deliveryId: delivery.deliveryId,
    attempts: delivery.attempts,
    outcome: verdict.kind,
    retryDelayMs: verdict.kind === 'retry' ? verdict.delayMs : null,
    body: verdict.kind === 'retry' ? body : null,
    status: posted.status,
    error: errorOf(posted, verdict),
    // A receiver may echo what it was sent; and no text of Postgres holds NUL.
    answer: maskSensitive(posted.answer).replaceAll('\0', ''),
    durationMs: posted.durationMs,
  }
}

function errorOf({ status, error }: Posted, { kind }: AttemptVerdict): string | null {
  if (error !== null) return error
  if (kind === 'delivered') return null
  return status !== null && status >= 300 && status < 400 ? 'REDIRECT_NOT_FOLLOWED' : `HTTP_${status}`
}
