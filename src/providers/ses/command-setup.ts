import { setTimeout as sleep } from 'node:timers/promises'
import type { SESv2Client } from '@aws-sdk/client-sesv2'
import type { SNSClient } from '@aws-sdk/client-sns'
import type { Author } from '../../audit/audit.ts'
import { type Answer, type Reading, UsageError } from '../../console/command.ts'
import { listProcesses } from '../../settings/processes.ts'
import { AwsCallFailed } from '../aws.ts'
import { explainAws, type IamScope } from './explain-aws.ts'
import { SES_EVENTS_PATH, type SesNames, topicParts } from './names.ts'
import {
  createConfigurationSet,
  createDestination,
  createTopic,
  findTopic,
  hasConfigurationSet,
  listDestinations,
  planSesSetup,
  policyWithPublish,
  publishStatement,
  readSubscription,
  readTopic,
  type SesFound,
  type SesStep,
  SIMULATOR,
  sendTrial,
  sesClient,
  setTopicPolicy,
  snsClient,
  subscribe,
  updateDestination,
} from './setup.ts'
import { acceptTopic, hasEventOf, listTopics } from './sns.ts'

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
type OpenedSes = Pick<Reading, 'db' | 'config'>

type AwsClients = { ses: SESv2Client; sns: SNSClient; region: string }

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

/** What was seen working. `complete`: all of it. */
type Proof = { complete: boolean; json: Record<string, unknown>; lines: string[] }

const LOOK_MS = 250
/** SNS gives up on an endpoint that refuses; a new Subscribe makes it post another confirmation. */
const ASK_AGAIN_MS = 10_000
const REACH_MS = 5_000

/** Waits until SNS has confirmed the subscription, then until a message to Amazon's simulator has come back as an event. */
async function proveEvents(
  opened: OpenedSes,
  clients: AwsClients,
  wanted: WantedSes,
  topicArn: string,
): Promise<Proof> {
  if (!(await isConfirmed(clients, wanted, topicArn))) return notConfirmed(opened, wanted)
  const confirmed = `ok: the subscription of ${wanted.endpoint} is confirmed`
  if (!wanted.trial)
    return { complete: true, json: { subscription: 'confirmed', trial: 'skipped' }, lines: [confirmed] }
  const trial = await tryEvents(opened, clients, wanted)
  return { ...trial, json: { subscription: 'confirmed', ...trial.json }, lines: [confirmed, ...trial.lines] }
}

async function isConfirmed({ sns }: AwsClients, wanted: WantedSes, topicArn: string): Promise<boolean> {
  let askedMs = Date.now()
  return within(wanted.waitSeconds, async () => {
    const state = await readSubscription(sns, topicArn, wanted.endpoint)
    if (state !== 'confirmed' && Date.now() - askedMs >= ASK_AGAIN_MS) {
      askedMs = Date.now()
      await subscribe(sns, topicArn, wanted.endpoint)
    }
    return state === 'confirmed'
  })
}

async function notConfirmed({ db }: OpenedSes, { endpoint, waitSeconds }: WantedSes): Promise<Proof> {
  const seen = await reachabilityOf(endpoint)
  const running = (await listProcesses(db.pool)).some(({ role }) => role !== 'worker')
  return {
    complete: false,
    json: { subscription: 'pending', reachability: seen },
    lines: [
      `NOT CONFIRMED: within ${waitSeconds} s Amazon SNS could not deliver its confirmation to ${endpoint}.`,
      `From this machine, ${seen}.`,
      ...(running ? [] : ['No API process of the gateway is running on this database: start one.']),
      'Check that the name resolves in public DNS, that the certificate is valid, that port 443 is open to the Internet,',
      'that the proxy passes POST /webhooks/ses on unchanged, and that the credentials of the gateway may call sns:ConfirmSubscription.',
      "The gateway's log says why it refused a confirmation that did arrive. Then run the command again.",
    ],
  }
}

/** As seen from here, which may differ from what AWS sees. */
async function reachabilityOf(endpoint: string): Promise<string> {
  const url = `${endpoint.slice(0, -SES_EVENTS_PATH.length)}/health/live`
  try {
    const { status } = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(REACH_MS) })
    return `${url} answers with HTTP ${status}`
  } catch (error) {
    const { cause, message, name } = error as Error & { cause?: { code?: string; message?: string } }
    const why =
      name === 'TimeoutError' ? `no answer within ${REACH_MS / 1000} s` : (cause?.code ?? cause?.message ?? message)
    return `${url} cannot be reached: ${why}`
  }
}

async function tryEvents({ db, config }: OpenedSes, { ses }: AwsClients, wanted: WantedSes): Promise<Proof> {
  const from = wanted.from ?? config.EMAIL_FROM
  const startedMs = Date.now()
  let messageId: string
  try {
    messageId = await sendTrial(ses, { from, configurationSet: wanted.names.configurationSet })
  } catch (error) {
    if (!(error instanceof AwsCallFailed) || error.problem !== 'refused') throw error
    return {
      complete: false,
      json: { trial: 'refused', reason: error.message },
      lines: [
        `NOT TRIED: SES refused the trial message from ${from}: ${error.message}`,
        'Verify a domain with email-gateway domain add, then run the command again with --from an address of it.',
      ],
    }
  }
  const since = () => (Date.now() - startedMs) / 1000
  const came = await within(wanted.waitSeconds, () => hasEventOf(db.pool, messageId, since() + 60))
  if (came)
    return {
      complete: true,
      json: { trial: 'received', messageId },
      lines: [`ok: the message to ${SIMULATOR} came back as an event after ${Math.round(since())} s`],
    }
  return {
    complete: false,
    json: { trial: 'missing', messageId },
    lines: [
      `NOT RECEIVED: no event of the message ${messageId} to ${SIMULATOR} came within ${wanted.waitSeconds} s.`,
      "Look at the gateway's log, at provider_events_refused_total on /metrics, and run: email-gateway doctor",
    ],
  }
}

async function within(seconds: number, isSo: () => Promise<boolean>): Promise<boolean> {
  const untilMs = Date.now() + seconds * 1000
  for (;;) {
    if (await isSo()) return true
    if (Date.now() >= untilMs) return false
    await sleep(LOOK_MS)
  }
}
