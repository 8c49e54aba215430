// Receives delivery events. Create the endpoint first:
//   curl -sS $GATEWAY_URL/v1/webhooks -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' \
//     -d '{"url":"https://your.example/webhooks","eventTypes":["email.sent","email.delivered","email.bounced"]}'
// On this machine the URL may be http://127.0.0.1:8080/ when the gateway runs with WEBHOOK_ALLOW_PRIVATE=true.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { needed } from './environment.mjs'

const webhook = new Webhook(needed('WEBHOOK_SECRET'))
const MAX_BYTES = 1024 * 1024

createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) {
    body += chunk
    if (body.length > MAX_BYTES) return response.writeHead(413).end()
  }
  try {
    const event = webhook.verify(body, request.headers)
    // A delivery may come twice: keep its webhook-id, and skip those you know.
    console.log(request.headers['webhook-id'], event.type, event.data.outboxId)
    response.writeHead(204).end()
  } catch {
    response.writeHead(401).end()
  }
}).listen(Number(process.env.RECEIVER_PORT ?? 8080), '127.0.0.1', function () {
  console.log(`Listening on http://127.0.0.1:${this.address().port}/`)
})
