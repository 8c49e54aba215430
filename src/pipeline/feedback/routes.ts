import type { FastifyRequest } from 'fastify'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { networkOf } from '../../admins/authorize.ts'
import type { IncomingEvent } from '../../outbox/provider-events.ts'
import { hashesEqual } from '../../platform/text/hashing.ts'
import { maskSensitive } from '../../platform/text/masking.ts'
import {
  type CertificateSource,
  MESSAGE_ID,
  type SnsMessage,
  type SnsRefusal,
  SnsRefused,
  type SnsRules,
  verifySnsMessage,
} from '../../providers/ses/sns.ts'
import { boundBodies, EVENT_MEMORY, PROVIDER_EVENT_LIMIT } from '../../web/body.ts'
import { bodyWithin, CONNECTION_LIMITS } from '../../web/connection-limits.ts'
import { problemAnswers } from '../../web/openapi.ts'
import { Problem } from '../../web/problem.ts'
import type { App } from '../../web/server.ts'

const storedSchema = z.object({ processed: z.literal(true) })
const answerSchema = z.union([storedSchema, z.object({ confirmed: z.literal(true) })])
const common = { tags: ['Provider events'], security: [] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 503)

/** Answers when the event is stored. It is processed later, by feedback.ts. */
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

/** One of `webhooks` must have signed it; there are several while the secret is being changed. */
async function receiveResendEvent(request: FastifyRequest, webhooks: Webhook[], deps: ProviderEventDeps) {
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

/** A message of Amazon SNS: an event of SES, or a confirmation about the subscription. */
async function receiveSnsMessage(request: FastifyRequest, deps: ProviderEventDeps) {
  const body = bodyText(request)
  try {
    if (request.headers['x-amz-sns-rawdelivery'] === 'true') return await receiveRaw(request, body, deps)
    const { rules, certificates, nowMs } = deps.sns
    const message = await verifySnsMessage(body, await rules(), certificates, nowMs())
    const headerType = request.headers['x-amz-sns-message-type']
    if (headerType !== undefined && headerType !== message.Type)
      throw new SnsRefused('malformed', 'malformed', 'x-amz-sns-message-type differs from the Type of the message.')
    return await receiveVerified(message, request, deps)
  } catch (error) {
    throw error instanceof SnsRefused ? eventProblem(request, 'ses', error.refusal, deps) : error
  }
}

async function receiveVerified(message: SnsMessage, request: FastifyRequest, deps: ProviderEventDeps) {
  const { Type, MessageId, Message, TopicArn } = message
  if (Type === 'SubscriptionConfirmation') return confirmSubscription(message, request, deps)
  if (Type === 'UnsubscribeConfirmation') {
    request.log.warn(
      { topicArn: TopicArn },
      'The Amazon SNS subscription of this gateway was ended (UnsubscribeConfirmation)',
    )
    return { processed: true as const }
  }
  return storeEvent({ provider: 'ses', externalId: MessageId, payload: Message }, deps)
}

async function confirmSubscription(
  { TopicArn, Token }: SnsMessage,
  request: FastifyRequest,
  { sns }: ProviderEventDeps,
) {
  if (!Token) throw new SnsRefused('malformed', 'malformed', 'A SubscriptionConfirmation has a Token.')
  const region = TopicArn.split(':')[3]!
  try {
    await sns.confirm({ topicArn: TopicArn, token: Token, region })
  } catch (error) {
    const { name, message } = error as Error
    request.log.error({ err: error, topicArn: TopicArn }, 'The subscription could not be confirmed')
    throw new Problem('SUBSCRIPTION_NOT_CONFIRMED', { detail: maskSensitive(`${name}: ${message}`.slice(0, 300)) })
  }
  request.log.info({ topicArn: TopicArn }, 'Subscribed to a topic of Amazon SNS')
  return { confirmed: true as const }
}

/** Raw messages have no signature, so the password in the subscription's URL authenticates SNS. */
async function receiveRaw(request: FastifyRequest, payload: string, deps: ProviderEventDeps) {
  const { rules, rawPassword } = deps.sns
  if (rawPassword === null)
    throw new SnsRefused(
      'refused',
      'raw',
      'Raw messages are not signed. Switch raw message delivery off, or set SNS_RAW_DELIVERY_PASSWORD.',
    )
  if (!hashesEqual(basicPassword(request), rawPassword)) {
    deps.onRefused('ses', 'raw-password')
    // SNS sends the first request without the password and repeats it after this challenge.
    const headers = { 'www-authenticate': 'Basic realm="Amazon SNS", charset="UTF-8"' }
    throw new Problem('EVENT_UNAUTHENTICATED', { headers })
  }
  const { 'x-amz-sns-topic-arn': topic = '', 'x-amz-sns-message-id': id = '' } = request.headers
  if (!(await rules()).topicArns.includes(String(topic)))
    throw new SnsRefused('refused', 'topic', 'The topic is not one of SNS_TOPIC_ARNS.')
  if (!MESSAGE_ID.test(String(id))) throw new SnsRefused('malformed', 'malformed', 'x-amz-sns-message-id is missing.')
  return storeEvent({ provider: 'ses', externalId: String(id), payload }, deps)
}

function basicPassword({ headers }: FastifyRequest): string {
  const [, given = ''] = /^Basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(headers.authorization ?? '') ?? []
  return Buffer.from(given, 'base64').toString('utf8').split(':').slice(1).join(':')
}

export type ProviderEventDeps = {
  /** Resolves when the event is committed. */
  inbox: { add(event: IncomingEvent): Promise<unknown> }
  onReported: () => void
  onRefused: (provider: 'ses' | 'resend', reason: string) => void
  sns: {
    /** Without topics: Amazon SNS is not set up. They are those of SNS_TOPIC_ARNS and of `ses setup`. */
    rules: () => Promise<SnsRules>
    /** The database's clock. */
    nowMs: () => number
    certificates: CertificateSource
    confirm: (subscription: { topicArn: string; token: string; region: string }) => Promise<void>
    rawPassword: string | null
  }
  /** Empty: RESEND_WEBHOOK_SECRET is not set. */
  resendSecrets: readonly string[]
}

export async function storeEvent(event: IncomingEvent, { inbox, onReported }: ProviderEventDeps) {
  await inbox.add(event)
  onReported()
  return { processed: true as const }
}

/** The parser of these routes leaves the body as text, because signatures are computed over the bytes. */
export function bodyText({ body }: FastifyRequest): string {
  return typeof body === 'string' ? body : ''
}

const PROBLEM_OF = { malformed: 'INVALID_EVENT', refused: 'EVENT_REFUSED', retry: 'EVENT_NOT_CHECKED' } as const

export function eventProblem(
  request: FastifyRequest,
  provider: 'ses' | 'resend',
  { kind, reason, detail }: SnsRefusal,
  { onRefused }: ProviderEventDeps,
): Problem {
  onRefused(provider, reason)
  request.log.info({ provider, reason }, 'A provider event was refused')
  return new Problem(PROBLEM_OF[kind], { detail, ...(kind === 'retry' && { headers: { 'retry-after': '5' } }) })
}
