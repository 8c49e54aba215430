import type { FastifyRequest } from 'fastify'
import { hashesEqual } from '../contracts/hashing.ts'
import { maskSensitive } from '../contracts/masking.ts'
import { Problem } from './problem.ts'
import { bodyText, eventProblem, type ProviderEventDeps, storeEvent } from './provider-events.ts'
import { MESSAGE_ID, type SnsMessage, SnsRefused, verifySnsMessage } from './sns.ts'

/** A message of Amazon SNS: an event of SES, or a confirmation about the subscription. */
export async function receiveSnsMessage(request: FastifyRequest, deps: ProviderEventDeps) {
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
