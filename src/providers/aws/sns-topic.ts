import {
  CreateTopicCommand,
  GetTopicAttributesCommand,
  ListSubscriptionsByTopicCommand,
  ListTopicsCommand,
  SetTopicAttributesCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns'
import type { SesFound } from '../../contracts/ses/plan.ts'
import { LIMIT_ANSWERS_STEP, limitAnswers } from '../answer.ts'
import { AWS_CLIENT, type AwsOptions, named, orNull, withinTime } from './call.ts'

export function snsClient({ region, snsEndpoint }: AwsOptions): SNSClient {
  const client = new SNSClient({ ...AWS_CLIENT, region, ...(snsEndpoint && { endpoint: snsEndpoint }) })
  client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)
  return client
}

/** By its name: the account's number, which the ARN needs, is not known before. */
export async function findTopic(client: SNSClient, name: string): Promise<string | null> {
  let NextToken: string | undefined
  do {
    const command = new ListTopicsCommand({ NextToken })
    const answer = await named('sns:ListTopics', () => client.send(command, withinTime()))
    const found = answer.Topics?.find(({ TopicArn }) => TopicArn?.endsWith(`:${name}`))
    if (found) return found.TopicArn!
    NextToken = answer.NextToken
  } while (NextToken)
  return null
}

/** SignatureVersion 2 is SHA-256; the default is SHA-1. */
export async function createTopic(client: SNSClient, Name: string): Promise<string> {
  const command = new CreateTopicCommand({ Name, Attributes: { SignatureVersion: '2' } })
  const { TopicArn } = await named('sns:CreateTopic', () => client.send(command, withinTime()))
  return TopicArn!
}

/** null: there is no such topic. */
export async function readTopic(client: SNSClient, TopicArn: string): Promise<Record<string, string> | null> {
  const command = new GetTopicAttributesCommand({ TopicArn })
  const answer = await orNull('sns:GetTopicAttributes', () => client.send(command, withinTime()))
  return answer && (answer.Attributes ?? {})
}

export async function setTopicPolicy(client: SNSClient, TopicArn: string, policy: string): Promise<void> {
  const command = new SetTopicAttributesCommand({ TopicArn, AttributeName: 'Policy', AttributeValue: policy })
  await named('sns:SetTopicAttributes', () => client.send(command, withinTime()))
}

/** SNS posts a confirmation to the endpoint; called again while it is pending, it posts another one. */
export async function subscribe(client: SNSClient, TopicArn: string, endpoint: string): Promise<void> {
  const Protocol = new URL(endpoint).protocol.slice(0, -1)
  const command = new SubscribeCommand({ TopicArn, Protocol, Endpoint: endpoint, ReturnSubscriptionArn: true })
  await named('sns:Subscribe', () => client.send(command, withinTime()))
}

export type Subscriber = { url: string; confirmed: boolean }

export async function listSubscriptions(client: SNSClient, TopicArn: string): Promise<Subscriber[]> {
  const all: Subscriber[] = []
  let NextToken: string | undefined
  do {
    const command = new ListSubscriptionsByTopicCommand({ TopicArn, NextToken })
    const answer = await named('sns:ListSubscriptionsByTopic', () => client.send(command, withinTime()))
    for (const { Endpoint = '', SubscriptionArn } of answer.Subscriptions ?? [])
      all.push({ url: Endpoint, confirmed: SubscriptionArn?.startsWith('arn:') === true })
    NextToken = answer.NextToken
  } while (NextToken)
  return all
}

export async function readSubscription(
  client: SNSClient,
  TopicArn: string,
  endpoint: string,
): Promise<SesFound['subscription']> {
  const found = (await listSubscriptions(client, TopicArn)).find(({ url }) => url === endpoint)
  if (!found) return 'none'
  return found.confirmed ? 'confirmed' : 'pending'
}
