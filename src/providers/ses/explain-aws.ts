import { CommandFailed } from '../../console/command.ts'
import { AwsCallFailed } from '../aws.ts'
import type { SesNames } from './names.ts'

/** Runs `act`; a failure of AWS becomes one that says what to do. `done`: what was changed before. */
export async function explainAws<T>(scope: IamScope, done: string[], act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof AwsCallFailed)) throw error
    const before = done.length > 0 ? `\nDone before: ${done.join('; ')}. Run the command again to go on.` : ''
    throw new CommandFailed(`${explanationOf(error, scope)}${before}`, CODES[error.problem])
  }
}

const CODES = {
  denied: 'AWS_PERMISSION_MISSING',
  credentials: 'AWS_CREDENTIALS',
  unreachable: 'AWS_UNREACHABLE',
  refused: 'AWS_REFUSED',
} as const

/** AWS names the caller, and so the account, in every refusal. */
const accountIn = (message: string) => /\barn:aws[a-z-]*:(?:iam|sts)::(\d{12}):/.exec(message)?.[1]

function explanationOf({ problem, action, message }: AwsCallFailed, given: IamScope): string {
  const scope = { ...given, account: accountIn(message) ?? given.account }
  switch (problem) {
    case 'denied':
      return [
        `The AWS credentials may not call ${action} on ${resourceOf(action, scope)}.`,
        `AWS says: ${message}`,
        'Attach this policy to their user or role:',
        JSON.stringify(iamPolicy(scope), null, 2),
      ].join('\n')
    case 'credentials':
      return `AWS does not accept the credentials (${action}): ${message}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in this shell.`
    case 'unreachable':
      return `AWS could not be reached for ${action}: ${message}. Check the region, the network and AWS_ENDPOINT_URL_SESV2 or AWS_ENDPOINT_URL_SNS.`
    case 'refused':
      return `AWS refused ${action}: ${message}`
  }
}

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

export type IamScope = { region: string; account: string; names: SesNames; partition?: string }

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
