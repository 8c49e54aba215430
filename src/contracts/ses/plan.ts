import { SES_EVENT_TYPES, type SesNames } from './names.ts'

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
