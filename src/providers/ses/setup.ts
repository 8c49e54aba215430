import {
  CreateConfigurationSetCommand,
  CreateConfigurationSetEventDestinationCommand,
  GetAccountCommand,
  type GetAccountCommandOutput,
  GetConfigurationSetCommand,
  GetConfigurationSetEventDestinationsCommand,
  SESv2Client,
  SendEmailCommand,
  UpdateConfigurationSetEventDestinationCommand,
} from '@aws-sdk/client-sesv2'
import {
  CreateTopicCommand,
  GetTopicAttributesCommand,
  ListSubscriptionsByTopicCommand,
  ListTopicsCommand,
  SetTopicAttributesCommand,
  SNSClient,
  SubscribeCommand,
} from '@aws-sdk/client-sns'
import { AWS_CLIENT, type AwsOptions, named, orNull, withinTime } from '../aws.ts'
import { LIMIT_ANSWERS_STEP, limitAnswers } from '../provider.ts'
import { SES_EVENT_TYPES, type SesNames, topicParts } from './names.ts'

export type FoundDestination = { name: string; enabled: boolean; eventTypes: string[]; topicArn: string | null }

/** What there is in the AWS account and in our database. */
export type SesFound = {
  configurationSet: boolean
  /** null: there is no such topic. */
  topicArn: string | null
  /** Whether the topic's policy lets SES publish. */
  publishAllowed: boolean
  destinations: FoundDestination[]
  subscription: 'none' | 'pending' | 'confirmed'
  /** Whether the gateway accepts messages of the topic. */
  topicAccepted: boolean
}

type SesStepKind =
  | 'create-configuration-set'
  | 'create-topic'
  | 'allow-publish'
  | 'accept-topic'
  | 'create-event-destination'
  | 'update-event-destination'
  | 'subscribe'
export type SesStep = { kind: SesStepKind; what: string; destination?: string }

/** The steps that are missing, in the order in which they are made: the subscription last, when everything behind it is there. */
export function planSesSetup(found: SesFound, names: SesNames, endpoint: string): SesStep[] {
  const steps: SesStep[] = []
  const add = (kind: SesStepKind, what: string, destination?: string) =>
    steps.push({ kind, what, ...(destination && { destination }) })
  if (!found.configurationSet) add('create-configuration-set', `create the configuration set ${names.configurationSet}`)
  if (!found.topicArn) add('create-topic', `create the SNS topic ${names.topic}`)
  if (!found.publishAllowed)
    add(
      'allow-publish',
      `allow ses.amazonaws.com to publish to ${names.topic}, from this account and configuration set`,
    )
  if (!found.topicAccepted) add('accept-topic', `let the gateway accept messages of ${names.topic}`)
  const destination = destinationOf(found, names)
  const events = `${SES_EVENT_TYPES.join(', ')} to ${names.topic}`
  if (!destination) add('create-event-destination', `create the event destination ${names.eventDestination}: ${events}`)
  else if (!isRight(destination, found.topicArn))
    add('update-event-destination', `correct the event destination ${destination.name}: ${events}`, destination.name)
  if (found.subscription === 'none') add('subscribe', `subscribe ${endpoint} to ${names.topic}`)
  if (found.subscription === 'pending')
    add('subscribe', `ask again for the confirmation of ${endpoint}, which is still pending`)
  return steps
}

/** One that publishes to the topic already, whatever its name; else the one of our name. */
export function destinationOf({ destinations, topicArn }: SesFound, names: SesNames): FoundDestination | null {
  const publishing = destinations.find(one => topicArn !== null && one.topicArn === topicArn)
  return publishing ?? destinations.find(({ name }) => name === names.eventDestination) ?? null
}

const isRight = ({ enabled, eventTypes, topicArn }: FoundDestination, wanted: string | null) =>
  enabled && topicArn === wanted && SES_EVENT_TYPES.every(type => eventTypes.includes(type))

/** The statement of ours: other statements of the topic's policy are left as they are. */
export const PUBLISH_SID = 'EmailGatewaySesPublish'

export type Statement = Record<string, unknown> & { Sid?: string }
type Policy = { Version?: string; Id?: string; Statement?: Statement | Statement[] }

/** SES may publish to the topic, for this configuration set of this account only. */
export function publishStatement(topicArn: string, configurationSet: string): Statement {
  const { partition, region, account } = topicParts(topicArn)!
  return {
    Sid: PUBLISH_SID,
    Effect: 'Allow',
    Principal: { Service: 'ses.amazonaws.com' },
    Action: 'sns:Publish',
    Resource: topicArn,
    Condition: {
      StringEquals: {
        'AWS:SourceAccount': account,
        'AWS:SourceArn': `arn:${partition}:ses:${region}:${account}:configuration-set/${configurationSet}`,
      },
    },
  }
}

/** The policy with our statement; null: it has it already. */
export function policyWithPublish(current: string | undefined, statement: Statement): string | null {
  const policy = parsePolicy(current)
  const statements = [policy.Statement ?? []].flat()
  const own = statements.find(({ Sid }) => Sid === PUBLISH_SID)
  if (own && sameStatement(own, statement)) return null
  const others = statements.filter(({ Sid }) => Sid !== PUBLISH_SID)
  return JSON.stringify({ Version: '2008-10-17', ...policy, Statement: [...others, statement] })
}

function parsePolicy(text: string | undefined): Policy {
  try {
    return Object(JSON.parse(text ?? '{}')) as Policy
  } catch {
    return {}
  }
}

/** AWS answers with its own order of keys. */
const sameStatement = (a: Statement, b: Statement) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

export function sesClient({ region, sesEndpoint }: AwsOptions): SESv2Client {
  const client = new SESv2Client({ ...AWS_CLIENT, region, ...(sesEndpoint && { endpoint: sesEndpoint }) })
  client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)
  return client
}

export function readAccount(client: SESv2Client): Promise<GetAccountCommandOutput> {
  return named('ses:GetAccount', () => client.send(new GetAccountCommand(), withinTime()))
}

export async function hasConfigurationSet(client: SESv2Client, ConfigurationSetName: string): Promise<boolean> {
  const command = new GetConfigurationSetCommand({ ConfigurationSetName })
  return (await orNull('ses:GetConfigurationSet', () => client.send(command, withinTime()))) !== null
}

export async function createConfigurationSet(client: SESv2Client, ConfigurationSetName: string): Promise<void> {
  const command = new CreateConfigurationSetCommand({ ConfigurationSetName })
  await named('ses:CreateConfigurationSet', () => client.send(command, withinTime()))
}

export async function listDestinations(client: SESv2Client, ConfigurationSetName: string): Promise<FoundDestination[]> {
  const command = new GetConfigurationSetEventDestinationsCommand({ ConfigurationSetName })
  const answer = await orNull('ses:GetConfigurationSetEventDestinations', () => client.send(command, withinTime()))
  return (answer?.EventDestinations ?? []).map(({ Name, Enabled, MatchingEventTypes, SnsDestination }) => ({
    name: Name!,
    enabled: Enabled === true,
    eventTypes: MatchingEventTypes ?? [],
    topicArn: SnsDestination?.TopicArn ?? null,
  }))
}

type WantedDestination = { configurationSet: string; name: string; topicArn: string }

export async function createDestination(client: SESv2Client, wanted: WantedDestination): Promise<void> {
  const command = new CreateConfigurationSetEventDestinationCommand(toRequest(wanted))
  await named('ses:CreateConfigurationSetEventDestination', () => client.send(command, withinTime()))
}

export async function updateDestination(client: SESv2Client, wanted: WantedDestination): Promise<void> {
  const command = new UpdateConfigurationSetEventDestinationCommand(toRequest(wanted))
  await named('ses:UpdateConfigurationSetEventDestination', () => client.send(command, withinTime()))
}

const toRequest = ({ configurationSet, name, topicArn }: WantedDestination) => ({
  ConfigurationSetName: configurationSet,
  EventDestinationName: name,
  EventDestination: {
    Enabled: true,
    MatchingEventTypes: [...SES_EVENT_TYPES],
    SnsDestination: { TopicArn: topicArn },
  },
})

/** Amazon's mailbox simulator takes it and reports its delivery. It counts for no quota and no reputation. */
export const SIMULATOR = 'success@simulator.amazonses.com'

/** Returns the message id. The tag keeps its events apart from those of e-mails. */
export async function sendTrial(
  client: SESv2Client,
  { from, configurationSet }: { from: string; configurationSet: string },
): Promise<string> {
  const text = (Data: string) => ({ Data, Charset: 'UTF-8' })
  const command = new SendEmailCommand({
    FromEmailAddress: from,
    Destination: { ToAddresses: [SIMULATOR] },
    ConfigurationSetName: configurationSet,
    EmailTags: [{ Name: 'purpose', Value: 'ses-setup' }],
    Content: {
      Simple: {
        Subject: text('Email Gateway: trial of the event path'),
        Body: { Text: text('Sent by email-gateway ses setup.') },
      },
    },
  })
  const { MessageId } = await named('ses:SendEmail', () => client.send(command, withinTime()))
  return MessageId!
}

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

type Subscriber = { url: string; confirmed: boolean }

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
