// Sends one e-mail, safely: a repeated request with the same Idempotency-Key sends nothing twice.
import { needed } from './environment.mjs'

const [GATEWAY_URL, API_KEY] = [needed('GATEWAY_URL'), needed('API_KEY')]

async function call(method, path, body, headers = {}) {
  const response = await fetch(new URL(path, GATEWAY_URL), {
    method,
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', ...headers },
    body: body && JSON.stringify(body),
  })
  const answer = await response.json()
  // Errors name the code, and each wrong field: {"code":"INVALID_PAYLOAD","errors":[{"path":"to","message":"…"}]}
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`)
  return answer
}

const accepted = await call(
  'POST',
  '/v1/email/send',
  {
    to: 'Maria <maria@example.com>',
    subject: 'Your order 1042',
    html: '<p>It is on its way.</p>',
    tags: ['order'],
    externalId: 'order-1042',
  },
  { 'idempotency-key': `order-1042-${Date.now()}` },
)
console.log('Accepted', accepted.outboxId)

const email = await call('GET', `/v1/email/${accepted.outboxId}`)
console.log('Status', email.status)
