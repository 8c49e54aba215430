import type { SESv2Client } from '@aws-sdk/client-sesv2'
import type { SNSClient } from '@aws-sdk/client-sns'
import type { IamScope } from '../contracts/ses/iam-policy.ts'
import { type SesNames, topicParts } from '../contracts/ses/names.ts'
import { planSesSetup, type SesFound, type SesStep } from '../contracts/ses/plan.ts'
import { policyWithPublish, publishStatement } from '../contracts/ses/topic-policy.ts'
import type { Author } from '../db/audited-change.ts'
import { acceptTopic, listTopics } from '../db/feedback/sns-topics.ts'
import {
  createConfigurationSet,
  createDestination,
  hasConfigurationSet,
  listDestinations,
  sesClient,
  updateDestination,
} from '../providers/aws/ses-events.ts'
import {
  createTopic,
  findTopic,
  readSubscription,
  readTopic,
  setTopicPolicy,
  snsClient,
  subscribe,
} from '../providers/aws/sns-topic.ts'
import { explainAws } from './aws-failure.ts'
import { type Answer, type Reading, UsageError } from './command.ts'
import { type Proof, proveEvents } from './ses-proof.ts'

export type WantedSes = {
  /** The gateway's public address of /webhooks/ses. */
  endpoint: string
  region: string | undefined
  names: SesNames
  from: string | undefined
  waitSeconds: number
  trial: boolean
}

/** Of an opened storage. */
export type OpenedSes = Pick<Reading, 'db' | 'config'>

export type AwsClients = { ses: SESv2Client; sns: SNSClient; region: string }

/** For `--dry-run`. */
export async function planSes(opened: OpenedSes, wanted: WantedSes): Promise<Answer> {
  return withClients(opened, wanted, async (clients, scope) => {
    const { steps } = await explainAws(scope, [], () => readAndPlan(opened, clients, wanted))
    const lines = steps.length > 0 ? steps.map(({ what }) => `would ${what}`) : ['Nothing is missing.']
    return { json: { dryRun: true, steps }, lines: [`Amazon SES in ${clients.region}`, ...lines] }
  })
}

export async function setUpSes(opened: OpenedSes, wanted: WantedSes, author: Author): Promise<Answer> {
  return withClients(opened, wanted, async (clients, scope) => {
    const done: string[] = []
    const { topicArn, steps } = await explainAws(scope, done, async () => {
      const planned = await readAndPlan(opened, clients, wanted)
      const topicArn = await carryOut(planned, { opened, clients, wanted, author, done })
      return { ...planned, topicArn }
    })
    const account = topicParts(topicArn)!.account
    const proof = await explainAws({ ...scope, account }, done, () => proveEvents(opened, clients, wanted, topicArn))
    return answerOf({ opened, clients, wanted, topicArn, steps, proof })
  })
}

async function withClients(
  { config }: OpenedSes,
  wanted: WantedSes,
  act: (clients: AwsClients, scope: IamScope) => Promise<Answer>,
): Promise<Answer> {
  const region = wanted.region ?? config.AWS_REGION
  if (!region) throw new UsageError('--region is missing, and AWS_REGION is not set')
  const options = { region, sesEndpoint: config.AWS_ENDPOINT_URL_SESV2, snsEndpoint: config.AWS_ENDPOINT_URL_SNS }
  const clients = { ses: sesClient(options), sns: snsClient(options), region }
  try {
    return await act(clients, { region, account: 'ACCOUNT_ID', names: wanted.names })
  } finally {
    clients.ses.destroy()
    clients.sns.destroy()
  }
}

type Planned = { found: SesFound; steps: SesStep[]; policy: string | undefined }

async function readAndPlan(opened: OpenedSes, { ses, sns }: AwsClients, wanted: WantedSes): Promise<Planned> {
  const { names, endpoint } = wanted
  const configurationSet = await hasConfigurationSet(ses, names.configurationSet)
  const topicArn = await findTopic(sns, names.topic)
  const policy = topicArn === null ? undefined : (await readTopic(sns, topicArn))?.Policy
  const accepted = [...(opened.config.SNS_TOPIC_ARNS ?? []), ...(await listTopics(opened.db.pool))]
  const found: SesFound = {
    configurationSet,
    topicArn,
    publishAllowed:
      topicArn !== null && policyWithPublish(policy, publishStatement(topicArn, names.configurationSet)) === null,
    destinations: configurationSet ? await listDestinations(ses, names.configurationSet) : [],
    subscription: topicArn === null ? 'none' : await readSubscription(sns, topicArn, endpoint),
    topicAccepted: topicArn !== null && accepted.includes(topicArn),
  }
  return { found, steps: planSesSetup(found, names, endpoint), policy }
}

type Work = { opened: OpenedSes; clients: AwsClients; wanted: WantedSes; author: Author; done: string[] }

/** Returns the topic. Each step may be repeated: what was interrupted is completed by the next run. */
async function carryOut({ found, steps, policy }: Planned, work: Work): Promise<string> {
  let topicArn = found.topicArn
  for (const step of steps) {
    if (step.kind === 'create-topic') topicArn = await createTopic(work.clients.sns, work.wanted.names.topic)
    else await carryOutStep(step, topicArn!, policy, work)
    work.done.push(step.what)
  }
  return topicArn!
}

async function carryOutStep(step: SesStep, topicArn: string, policy: string | undefined, work: Work): Promise<void> {
  const { opened, author, clients, wanted } = work
  const { configurationSet, eventDestination } = wanted.names
  const destination = { configurationSet, name: step.destination ?? eventDestination, topicArn }
  switch (step.kind) {
    case 'create-configuration-set':
      return createConfigurationSet(clients.ses, configurationSet)
    case 'allow-publish': {
      const current = policy ?? (await readTopic(clients.sns, topicArn))?.Policy
      const changed = policyWithPublish(current, publishStatement(topicArn, configurationSet))
      return changed === null ? undefined : setTopicPolicy(clients.sns, topicArn, changed)
    }
    case 'accept-topic':
      return acceptTopic(opened.db.pool, topicArn, author)
    case 'create-event-destination':
      return createDestination(clients.ses, destination)
    case 'update-event-destination':
      return updateDestination(clients.ses, destination)
    case 'subscribe':
      return subscribe(clients.sns, topicArn, wanted.endpoint)
  }
}

type Result = {
  opened: OpenedSes
  clients: AwsClients
  wanted: WantedSes
  topicArn: string
  steps: SesStep[]
  proof: Proof
}

function answerOf({ opened, clients, wanted, topicArn, steps, proof }: Result): Answer {
  const { EMAIL_PROVIDER } = opened.config
  const provider = EMAIL_PROVIDER.some(entry => entry.startsWith('ses')) ? EMAIL_PROVIDER.join(',') : 'ses'
  const settings = {
    EMAIL_PROVIDER: provider,
    AWS_REGION: clients.region,
    SES_CONFIGURATION_SET: wanted.names.configurationSet,
    SNS_TOPIC_ARNS: topicArn,
  }
  const changes =
    steps.length > 0 ? steps.map(({ what }) => `done: ${what}`) : ['Nothing was missing, and nothing was changed.']
  return {
    json: { changed: steps.length > 0, steps, topicArn, endpoint: wanted.endpoint, ...proof.json, settings },
    lines: [
      `Amazon SES in ${clients.region}, account ${topicParts(topicArn)!.account}`,
      ...changes,
      ...proof.lines,
      '',
      'Keep these settings for every process of the gateway:',
      ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
    ],
    exitCode: proof.complete ? 0 : 1,
  }
}
