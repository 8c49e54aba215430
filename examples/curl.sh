#!/usr/bin/env bash
# Sends one e-mail and asks where it is.
set -euo pipefail
: "${GATEWAY_URL:?is not set: see examples/README.md}" "${API_KEY:?is not set: see examples/README.md}"

answer=$(curl -sS --fail-with-body "$GATEWAY_URL/v1/email/send" \
  -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' -H "Idempotency-Key: order-1042-$$" \
  -d '{"to":"maria@example.com","subject":"Your order 1042","html":"<p>It is on its way.</p>"}')
echo "$answer"

outbox_id=$(sed -E 's/.*"outboxId":"([^"]+)".*/\1/' <<<"$answer")
curl -sS --fail-with-body "$GATEWAY_URL/v1/email/$outbox_id/explain" -H "X-API-Key: $API_KEY"
