import { setTimeout as sleep } from 'node:timers/promises'
import { SES_EVENTS_PATH } from '../contracts/ses/names.ts'
import { hasEventOf } from '../db/feedback/sns-topics.ts'
import { listProcesses } from '../db/processes.ts'
import { AwsCallFailed } from '../providers/aws/call.ts'
import { SIMULATOR, sendTrial } from '../providers/aws/ses-events.ts'
import { readSubscription, subscribe } from '../providers/aws/sns-topic.ts'
import type { AwsClients, OpenedSes, WantedSes } from './ses-setup.ts'

/** What was seen working. `complete`: all of it. */
export type Proof = { complete: boolean; json: Record<string, unknown>; lines: string[] }

const LOOK_MS = 250
/** SNS gives up on an endpoint that refuses; a new Subscribe makes it post another confirmation. */
const ASK_AGAIN_MS = 10_000
const REACH_MS = 5_000

/** Waits until SNS has confirmed the subscription, then until a message to Amazon's simulator has come back as an event. */
export async function proveEvents(
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
