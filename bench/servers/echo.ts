import { acceptedSchema } from '../../src/outbox/email-view.ts'
import { sendBodySchema } from '../../src/outbox/send-body.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { uuidv7 } from '../../src/platform/text/uuid.ts'
import { baseApp } from '../../src/web/server.ts'

/** Reference (a): the same framework, hooks, log line and schema validation, and an answer of the same form. No database. */
const app = baseApp({ log: makeLog({ level: 'info', pretty: false }), trustProxy: false })

app.post(
  '/v1/email/send',
  { schema: { body: sendBodySchema, response: { 202: acceptedSchema } } },
  async (request, reply) => {
    const outboxId = uuidv7()
    return reply
      .code(202)
      .send({ outboxId, jobId: outboxId, requestId: request.id, status: 'QUEUED', queuedAt: new Date().toISOString() })
  },
)

process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
