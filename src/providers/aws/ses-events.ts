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
import { SES_EVENT_TYPES } from '../../contracts/ses/names.ts'
import type { FoundDestination } from '../../contracts/ses/plan.ts'
import { LIMIT_ANSWERS_STEP, limitAnswers } from '../answer.ts'
import { AWS_CLIENT, type AwsOptions, named, orNull, withinTime } from './call.ts'

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

export type WantedDestination = { configurationSet: string; name: string; topicArn: string }

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
