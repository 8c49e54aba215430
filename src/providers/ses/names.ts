/** What Amazon SES reports to us. Opens and clicks are not measured. */
export const SES_EVENT_TYPES = [
  'SEND',
  'DELIVERY',
  'BOUNCE',
  'COMPLAINT',
  'REJECT',
  'DELIVERY_DELAY',
  'RENDERING_FAILURE',
] as const

export const DEFAULT_SES_NAME = 'email-gateway'

/** Where Amazon SNS posts, below the gateway's public address. */
export const SES_EVENTS_PATH = '/webhooks/ses'

export type SesNames = { configurationSet: string; topic: string; eventDestination: string }

/** One name for all parts, so that an operator finds them in the AWS console. */
export function sesNames(name: string = DEFAULT_SES_NAME): SesNames {
  return { configurationSet: name, topic: `${name}-events`, eventDestination: name }
}

/** What is valid as a configuration set, a topic and an event destination. */
export const SES_NAME = /^[A-Za-z0-9_-]{1,50}$/

type TopicParts = { partition: string; region: string; account: string; topic: string }

export function topicParts(arn: string): TopicParts | null {
  const match = /^arn:(aws[a-z-]*):sns:([a-z0-9-]+):(\d+):([A-Za-z0-9_-]+(?:\.fifo)?)$/.exec(arn)
  if (!match) return null
  const [, partition, region, account, topic] = match
  return { partition: partition!, region: region!, account: account!, topic: topic! }
}
