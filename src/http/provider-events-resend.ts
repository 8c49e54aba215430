import type { FastifyRequest } from 'fastify'
import type { Webhook } from 'standardwebhooks'
import { bodyText, eventProblem, type ProviderEventDeps, storeEvent } from './provider-events.ts'
import { MESSAGE_ID } from './sns.ts'

/** One of `webhooks` must have signed it; there are several while the secret is being changed. */
export async function receiveResendEvent(request: FastifyRequest, webhooks: Webhook[], deps: ProviderEventDeps) {
  const body = bodyText(request)
  const headers = signatureHeaders(request)
  const externalId = headers['webhook-id']
  if (!MESSAGE_ID.test(externalId)) {
    const detail = 'svix-id is missing or not valid.'
    throw eventProblem(request, 'resend', { kind: 'malformed', reason: 'malformed', detail }, deps)
  }
  if (!webhooks.some(webhook => isSigned(webhook, body, headers))) {
    const detail = 'The signature does not match or is older than five minutes, or the clock of the gateway is wrong.'
    throw eventProblem(request, 'resend', { kind: 'refused', reason: 'signature', detail }, deps)
  }
  return storeEvent({ provider: 'resend', externalId, payload: body }, deps)
}

/** Resend names them `svix-*`; Standard Webhooks names them `webhook-*`. */
function signatureHeaders({ headers }: FastifyRequest) {
  const header = (name: string) => String(headers[`webhook-${name}`] ?? headers[`svix-${name}`] ?? '')
  return {
    'webhook-id': header('id'),
    'webhook-timestamp': header('timestamp'),
    'webhook-signature': header('signature'),
  }
}

function isSigned(webhook: Webhook, body: string, headers: Record<string, string>): boolean {
  try {
    webhook.verify(body, headers, { jsonParse: false })
    return true
  } catch {
    return false
  }
}
