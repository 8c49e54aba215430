import type { Logger } from 'pino'
import { maskSensitive } from '../contracts/masking.ts'
import type { DeliveryDecision } from '../contracts/webhooks/schedule.ts'
import type { ClaimedDelivery } from '../db/webhooks/claim.ts'
import type { WebhookSettlement } from '../db/webhooks/settle.ts'
import type { Posted } from './request.ts'

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
