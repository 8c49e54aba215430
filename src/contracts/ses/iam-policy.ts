import type { SesNames } from './names.ts'

export type IamScope = { region: string; account: string; names: SesNames; partition?: string }

const SETUP_ACTIONS = [
  'ses:GetConfigurationSet',
  'ses:CreateConfigurationSet',
  'ses:GetConfigurationSetEventDestinations',
  'ses:CreateConfigurationSetEventDestination',
  'ses:UpdateConfigurationSetEventDestination',
]
const TOPIC_ACTIONS = [
  'sns:CreateTopic',
  'sns:GetTopicAttributes',
  'sns:SetTopicAttributes',
  'sns:ListSubscriptionsByTopic',
  'sns:Subscribe',
]
const DOMAIN_ACTIONS = [
  'ses:CreateEmailIdentity',
  'ses:GetEmailIdentity',
  'ses:PutEmailIdentityMailFromAttributes',
  'ses:DeleteEmailIdentity',
]

/** The least that everything needs. docs/ses.md shows it; a test compares it with the calls that the code makes. */
export function iamPolicy({ region, account, names, partition = 'aws' }: IamScope) {
  const ses = `arn:${partition}:ses:${region}:${account}`
  const topic = `arn:${partition}:sns:${region}:${account}:${names.topic}`
  const set = `${ses}:configuration-set/${names.configurationSet}`
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'Send',
        Effect: 'Allow',
        Action: ['ses:SendEmail', 'ses:SendRawEmail'],
        Resource: [`${ses}:identity/*`, set],
      },
      { Sid: 'Account', Effect: 'Allow', Action: ['ses:GetAccount', 'sns:ListTopics'], Resource: '*' },
      { Sid: 'Confirm', Effect: 'Allow', Action: ['sns:ConfirmSubscription'], Resource: topic },
      { Sid: 'SetUpEvents', Effect: 'Allow', Action: SETUP_ACTIONS, Resource: set },
      { Sid: 'SetUpTopic', Effect: 'Allow', Action: TOPIC_ACTIONS, Resource: topic },
      { Sid: 'Domains', Effect: 'Allow', Action: DOMAIN_ACTIONS, Resource: `${ses}:identity/*` },
    ],
  }
}

/** The resource that an action is about, for the message about a missing permission. */
export function resourceOf(action: string, scope: IamScope): string {
  const statement = iamPolicy(scope).Statement.find(({ Action }) => Action.includes(action))
  return [statement?.Resource ?? '*'].flat()[0]!
}
