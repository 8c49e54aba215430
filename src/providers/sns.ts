import { ConfirmSubscriptionCommand, SNSClient } from '@aws-sdk/client-sns'
import { LIMIT_ANSWERS_STEP, limitAnswers } from './answer.ts'

const CONFIRM_MS = 10_000

/** The topic must have been checked before. Uses the SDK's credential chain. */
export async function confirmSubscription(
  { topicArn, token, region }: { topicArn: string; token: string; region: string },
  endpoint?: string,
): Promise<void> {
  const client = new SNSClient({ region, maxAttempts: 1, ...(endpoint && { endpoint }) })
  client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)
  try {
    // Every SNS message contains an unsubscribe link; with this flag it works only for the owner of the topic.
    const command = new ConfirmSubscriptionCommand({
      TopicArn: topicArn,
      Token: token,
      AuthenticateOnUnsubscribe: 'true',
    })
    await client.send(command, { abortSignal: AbortSignal.timeout(CONFIRM_MS) })
  } finally {
    client.destroy()
  }
}
