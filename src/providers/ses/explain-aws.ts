import { CommandFailed } from '../../console/command.ts'
import { AwsCallFailed } from '../aws.ts'
import { type IamScope, iamPolicy, resourceOf } from './setup.ts'

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
