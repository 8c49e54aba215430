import { ConfirmSubscriptionCommand, SNSClient } from '@aws-sdk/client-sns'
import { limitAnswers, NEXT_TO_THE_WIRE } from './answer.ts'

const CONFIRM_MS = 10_000

/** The region is that of a topic that was checked; credentials come the AWS way. */
export async function confirmSubscription(
  { topicArn, token, region }: { topicArn: string; token: string; region: string },
  endpoint?: string,
): Promise<void> {
  const client = new SNSClient({ region, maxAttempts: 1, ...(endpoint && { endpoint }) })
  client.middlewareStack.add(limitAnswers, NEXT_TO_THE_WIRE)
  try {
    // Every message has a link that ends the subscription; this way it works for nobody but the owner.
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
