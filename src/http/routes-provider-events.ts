import type { FastifyRequest } from 'fastify'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { hashesEqual } from '../contracts/hashing.ts'
import { maskSensitive } from '../contracts/masking.ts'
import type { IncomingEvent } from '../db/provider-events.ts'
import type { App } from './app.ts'
import { boundBodies, EVENT_MEMORY } from './body-memory.ts'
import { bodyWithin, CONNECTION_LIMITS } from './connection-limits.ts'
import { PROVIDER_EVENT_LIMIT } from './limits.ts'
import { networkOf } from './login-limits.ts'
import { problemAnswers } from './openapi.ts'
import { Problem } from './problem.ts'
import {
  type CertificateSource,
  MESSAGE_ID,
  type SnsMessage,
  SnsRefused,
  type SnsRules,
  verifySnsMessage,
} from './sns.ts'

export type ProviderEventDeps = {
  /** Resolves when the event is in the database for good. */
  inbox: { add(event: IncomingEvent): Promise<unknown> }
  onReported: () => void
  onRefused: (provider: 'ses' | 'resend', reason: string) => void
  /** null: SNS_TOPIC_ARNS is not set. */
  sns: {
    rules: SnsRules
    /** By the clock of the database. */
    nowMs: () => number
    certificates: CertificateSource
    confirm: (subscription: { topicArn: string; token: string; region: string }) => Promise<void>
    rawPassword: string | null
  } | null
  /** Empty: RESEND_WEBHOOK_SECRET is not set. */
  resendSecrets: readonly string[]
}

const storedSchema = z.object({ processed: z.literal(true) })
const answerSchema = z.union([storedSchema, z.object({ confirmed: z.literal(true) })])
const common = { tags: ['Provider events'], security: [] }
const refusals = problemAnswers(400, 401, 403, 413, 415, 503)

/** What providers report. Answered when it is stored; what it means is worked out apart (pipeline/record-feedback.ts). */
export async function providerEventRoutes(
  app: App,
  deps: ProviderEventDeps,
  { eventBodyMs } = CONNECTION_LIMITS,
  memory = EVENT_MEMORY,
): Promise<void> {
  const holdMemory = boundBodies(memory, request => networkOf(request.ip))
  // Signatures are of the bytes as they came, and SNS calls its JSON text/plain.
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
        async () => {
          if (!deps.sns) throw notSetUp('SNS_TOPIC_ARNS is not set: name the topics whose messages are to be taken in.')
        },
        holdMemory,
      ],
      preParsing: bodyWithin(eventBodyMs),
      bodyLimit: PROVIDER_EVENT_LIMIT,
      schema: {
        summary: 'Events of Amazon SES, by Amazon SNS',
        ...common,
        response: { 200: answerSchema, ...refusals },
      },
    },
    request => takeSns(request, deps),
  )

  const webhooks = deps.resendSecrets.map(secret => new Webhook(secret))
  app.post(
    '/webhooks/resend',
    {
      onRequest: [
        async () => {
          if (webhooks.length === 0)
            throw notSetUp('RESEND_WEBHOOK_SECRET is not set: it is the signing secret of the webhook.')
        },
        holdMemory,
      ],
      preParsing: bodyWithin(eventBodyMs),
      bodyLimit: PROVIDER_EVENT_LIMIT,
      schema: { summary: 'Events of Resend', ...common, response: { 200: storedSchema, ...refusals } },
    },
    request => takeResend(request, webhooks, deps),
  )
}

const notSetUp = (detail: string) => new Problem('EVENTS_NOT_SET_UP', { detail, headers: { 'retry-after': '60' } })

async function takeSns(request: FastifyRequest, deps: ProviderEventDeps) {
  const body = bodyOf(request)
  try {
    if (request.headers['x-amz-sns-rawdelivery'] === 'true') return await takeRaw(request, body, deps)
    const { rules, certificates, nowMs } = deps.sns!
    const message = await verifySnsMessage(body, rules, certificates, nowMs())
    const told = request.headers['x-amz-sns-message-type']
    if (told !== undefined && told !== message.Type)
      throw new SnsRefused('malformed', 'malformed', 'x-amz-sns-message-type says something else than the message.')
    return await takeMessage(message, request, deps)
  } catch (error) {
    throw error instanceof SnsRefused ? refused(request, 'ses', error.refusal, deps) : error
  }
}

async function takeMessage(message: SnsMessage, request: FastifyRequest, deps: ProviderEventDeps) {
  const { Type, MessageId, Message, TopicArn } = message
  if (Type === 'SubscriptionConfirmation') return confirm(message, request, deps)
  if (Type === 'UnsubscribeConfirmation') {
    request.log.warn({ topicArn: TopicArn }, 'Amazon SNS says that the subscription of this gateway has ended')
    return { processed: true as const }
  }
  return store({ provider: 'ses', externalId: MessageId, payload: Message }, deps)
}

async function confirm({ TopicArn, Token }: SnsMessage, request: FastifyRequest, { sns }: ProviderEventDeps) {
  if (!Token) throw new SnsRefused('malformed', 'malformed', 'A SubscriptionConfirmation has a Token.')
  const region = TopicArn.split(':')[3]!
  try {
    await sns!.confirm({ topicArn: TopicArn, token: Token, region })
  } catch (error) {
    const { name, message } = error as Error
    request.log.error({ err: error, topicArn: TopicArn }, 'The subscription could not be confirmed')
    throw new Problem('SUBSCRIPTION_NOT_CONFIRMED', { detail: maskSensitive(`${name}: ${message}`.slice(0, 300)) })
  }
  request.log.info({ topicArn: TopicArn }, 'Subscribed to a topic of Amazon SNS')
  return { confirmed: true as const }
}

/** Without a signature: whoever knows the password of the subscription's address is SNS. It asks without it first, and then with it. */
async function takeRaw(request: FastifyRequest, payload: string, deps: ProviderEventDeps) {
  const { rules, rawPassword } = deps.sns!
  if (rawPassword === null)
    throw new SnsRefused(
      'refused',
      'raw',
      'Raw messages are not signed. Switch raw message delivery off, or set SNS_RAW_DELIVERY_PASSWORD.',
    )
  const given = /^Basic ([A-Za-z0-9+/=]{1,1024})$/i.exec(request.headers.authorization ?? '')?.[1]
  const password = Buffer.from(given ?? '', 'base64')
    .toString('utf8')
    .split(':')
    .slice(1)
    .join(':')
  if (!hashesEqual(password, rawPassword)) {
    deps.onRefused('ses', 'raw-password')
    const headers = { 'www-authenticate': 'Basic realm="Amazon SNS", charset="UTF-8"' }
    throw new Problem('EVENT_UNAUTHENTICATED', { headers })
  }
  const { 'x-amz-sns-topic-arn': topic = '', 'x-amz-sns-message-id': id = '' } = request.headers
  if (!rules.topicArns.includes(String(topic)))
    throw new SnsRefused('refused', 'topic', 'The topic is not one of SNS_TOPIC_ARNS.')
  if (!MESSAGE_ID.test(String(id))) throw new SnsRefused('malformed', 'malformed', 'x-amz-sns-message-id is missing.')
  return store({ provider: 'ses', externalId: String(id), payload }, deps)
}

async function takeResend(request: FastifyRequest, webhooks: Webhook[], deps: ProviderEventDeps) {
  const body = bodyOf(request)
  const header = (name: string) => String(request.headers[`webhook-${name}`] ?? request.headers[`svix-${name}`] ?? '')
  const headers = {
    'webhook-id': header('id'),
    'webhook-timestamp': header('timestamp'),
    'webhook-signature': header('signature'),
  }
  const externalId = headers['webhook-id']
  if (!MESSAGE_ID.test(externalId))
    throw refused(request, 'resend', { kind: 'malformed', reason: 'malformed', detail: 'svix-id is no id.' }, deps)
  if (!webhooks.some(webhook => isSigned(webhook, body, headers))) {
    const detail = 'The signature does not match, or is older than five minutes; or our clock is wrong.'
    throw refused(request, 'resend', { kind: 'refused', reason: 'signature', detail }, deps)
  }
  return store({ provider: 'resend', externalId, payload: body }, deps)
}

function isSigned(webhook: Webhook, body: string, headers: Record<string, string>): boolean {
  try {
    webhook.verify(body, headers, { jsonParse: false })
    return true
  } catch {
    return false
  }
}

async function store(event: IncomingEvent, { inbox, onReported }: ProviderEventDeps) {
  await inbox.add(event)
  onReported()
  return { processed: true as const }
}

function bodyOf(request: FastifyRequest): string {
  return typeof request.body === 'string' ? request.body : ''
}

type Refusal = SnsRefused['refusal']
const PROBLEM_OF = { malformed: 'INVALID_EVENT', refused: 'EVENT_REFUSED', retry: 'EVENT_NOT_CHECKED' } as const

function refused(
  request: FastifyRequest,
  provider: 'ses' | 'resend',
  { kind, reason, detail }: Refusal,
  { onRefused }: ProviderEventDeps,
): Problem {
  onRefused(provider, reason)
  request.log.info({ provider, reason }, 'A provider event was refused')
  return new Problem(PROBLEM_OF[kind], { detail, ...(kind === 'retry' && { headers: { 'retry-after': '5' } }) })
}
