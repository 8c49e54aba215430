import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { networkOf } from '../runtime/login-limits.ts'
import type { App } from './app.ts'
import { boundBodies, EVENT_MEMORY } from './body-memory.ts'
import { bodyWithin, CONNECTION_LIMITS } from './connection-limits.ts'
import { PROVIDER_EVENT_LIMIT } from './limits.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import type { ProviderEventDeps } from './provider-events.ts'
import { receiveResendEvent } from './provider-events-resend.ts'
import { receiveSnsMessage } from './provider-events-ses.ts'

const storedSchema = z.object({ processed: z.literal(true) })
const answerSchema = z.union([storedSchema, z.object({ confirmed: z.literal(true) })])
const common = { tags: ['Provider events'], security: [] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 503)

/** Answers when the event is stored. It is processed later, by pipeline/feedback.ts. */
export async function providerEventRoutes(
  app: App,
  deps: ProviderEventDeps,
  { eventBodyMs } = CONNECTION_LIMITS,
  memory = EVENT_MEMORY,
): Promise<void> {
  const reserveMemory = boundBodies(memory, request => networkOf(request.ip))
  const webhooks = deps.resendSecrets.map(secret => new Webhook(secret))
  const limits = { preParsing: bodyWithin(eventBodyMs), bodyLimit: PROVIDER_EVENT_LIMIT }
  // Signatures are computed over the bytes as received, and SNS sends its JSON as text/plain.
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser(
    ['application/json', 'text/plain'],
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  )

  app.post(
    '/webhooks/ses',
    {
      onRequest: [
        requireSetup(
          async () => (await deps.sns.rules()).topicArns.length > 0,
          'SNS_TOPIC_ARNS is not set: set it to the ARNs of the topics to receive from, or run: email-gateway ses setup.',
        ),
        reserveMemory,
      ],
      ...limits,
      schema: {
        summary: 'Events of Amazon SES, by Amazon SNS',
        ...common,
        response: { 200: answerSchema, ...refusals },
      },
    },
    request => receiveSnsMessage(request, deps),
  )

  app.post(
    '/webhooks/resend',
    {
      onRequest: [
        requireSetup(
          async () => webhooks.length > 0,
          'RESEND_WEBHOOK_SECRET is not set: it is the signing secret of the webhook.',
        ),
        reserveMemory,
      ],
      ...limits,
      schema: { summary: 'Events of Resend', ...common, response: { 200: storedSchema, ...refusals } },
    },
    request => receiveResendEvent(request, webhooks, deps),
  )
}

function requireSetup(isSetUp: () => Promise<boolean>, detail: string) {
  return async (): Promise<void> => {
    if (!(await isSetUp())) throw new Problem('EVENTS_NOT_SET_UP', { detail, headers: { 'retry-after': '60' } })
  }
}
