import {
  GetAccountCommand,
  type GetAccountCommandOutput,
  SESv2Client,
  type SESv2ClientConfig,
  SESv2ServiceException,
  SendEmailCommand,
} from '@aws-sdk/client-sesv2'
import { classifyProviderError, type ProviderFailure } from '../contracts/provider-errors/classify.ts'
import { readRateHeaders } from '../contracts/provider-errors/rate-headers.ts'
import { keepAliveAgents } from './agents.ts'
import { limitAnswers, NEXT_TO_THE_WIRE } from './answer.ts'
import type { OutgoingMessage, Provider, ProviderQuota, SendResult } from './provider.ts'
import { toSesRequest } from './ses-request.ts'
import { describeThrown, orAborted, timedOut } from './thrown.ts'

export type SesOptions = {
  /** `ses`, or `ses:eu-west-1` where several regions are in use. */
  name: string
  region: string
  configurationSet: string | null
  /** Instead of the region's own and of AWS_ENDPOINT_URL_SESV2. */
  endpoint?: string
  /** Instead of the SDK's chain of environment, files and roles. */
  credentials?: NonNullable<SESv2ClientConfig['credentials']>
  /** Not less than the attempts at once, since one that waits for a socket cannot be told from one that waits for SES. */
  maxSockets?: number
  /** For the connection, and again for its TLS handshake. */
  connectMs?: number
}

/** The largest WORKER_CONCURRENCY. */
const MAX_SOCKETS = 1000
const CONNECT_MS = 5_000
/** Behind the caller's signal, for a caller without one. */
const REQUEST_MS = 60_000

export function sesProvider(options: SesOptions): Provider {
  const client = new SESv2Client(clientConfig(options))
  client.middlewareStack.add(limitAnswers, NEXT_TO_THE_WIRE)
  return {
    name: options.name,
    recognisesAttempts: false,
    send: (message, signal) => sendOnce(client, message, options.configurationSet, signal),
    async learnQuota(signal) {
      return toQuota(await orAborted(client.send(new GetAccountCommand(), { abortSignal: signal }), signal))
    },
    async probe(signal) {
      const quota = toQuota(await orAborted(client.send(new GetAccountCommand(), { abortSignal: signal }), signal))
      if (quota.paused) throw new Error(quota.paused)
      return `the account answers${quota.recipientsPerSecond === null ? '' : `, ${quota.recipientsPerSecond} recipients per second`}`
    },
    close: async () => client.destroy(),
  }
}

function clientConfig(options: SesOptions): SESv2ClientConfig {
  const { region, endpoint, credentials, maxSockets = MAX_SOCKETS, connectMs = CONNECT_MS } = options
  return {
    region,
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    // By default the SDK tries three times by itself, and its time limit only warns (decision 38).
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      ...keepAliveAgents({ maxSockets, handshakeMs: connectMs }),
    },
  }
}

/** As much of the SDK's HttpResponse as is looked at. */
type SesResponse = { headers?: Record<string, string>; body?: unknown }

async function sendOnce(
  client: SESv2Client,
  message: OutgoingMessage,
  configurationSet: string | null,
  signal: AbortSignal,
): Promise<SendResult> {
  if (signal.aborted) return { kind: 'failed', failure: timedOut('ses', 'unsent') }
  const command = new SendEmailCommand(await toSesRequest(message, configurationSet))
  // Until the last step of the SDK nothing has left: it may still be asking for credentials.
  let mayHaveLeft = false
  let headers: SesResponse['headers']
  command.middlewareStack.add(
    next => async args => {
      mayHaveLeft = !signal.aborted
      const result = await next(args)
      headers = (result.response as SesResponse).headers
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'noteHandover' },
  )
  try {
    const { MessageId } = await orAborted(client.send(command, { abortSignal: signal }), signal)
    if (MessageId) return { kind: 'sent', messageId: MessageId, events: [] }
    return {
      kind: 'failed',
      failure: classifyProviderError({ provider: 'ses', message: 'Answer without a message id' }),
    }
  } catch (error) {
    return {
      kind: 'failed',
      failure: signal.aborted ? timedOut('ses', mayHaveLeft ? 'left' : 'unconnected') : toFailure(error, headers),
      rate: readRateHeaders(name => headers?.[name], Date.now()),
    }
  }
}

function toFailure(error: unknown, headers: SesResponse['headers'] = {}): ProviderFailure {
  const { $metadata, __type } = error as { $metadata?: { httpStatusCode?: number }; __type?: string }
  return classifyProviderError({
    provider: 'ses',
    statusCode: $metadata?.httpStatusCode,
    ...describeThrown(error),
    // Of an error that was answered, `code` is whatever the body has under that name, and the SDK makes up a missing type.
    ...(error instanceof SESv2ServiceException && { networkCode: undefined }),
    ownForm: headers['x-amzn-errortype'] !== undefined || __type !== undefined,
  })
}

export function toQuota(account: GetAccountCommandOutput): ProviderQuota {
  const { MaxSendRate } = account.SendQuota ?? {}
  return { recipientsPerSecond: MaxSendRate && MaxSendRate > 0 ? MaxSendRate : null, paused: reasonOfPause(account) }
}

function reasonOfPause({ SendingEnabled, EnforcementStatus = '', SendQuota }: GetAccountCommandOutput): string | null {
  if (STOPPED.includes(EnforcementStatus))
    return `Amazon SES has stopped this account: its status is ${EnforcementStatus}.`
  if (SendingEnabled === false) return 'Sending is switched off for this Amazon SES account.'
  const { Max24HourSend = 0, SentLast24Hours = 0 } = SendQuota ?? {}
  // -1 stands for no limit.
  if (Max24HourSend > 0 && SentLast24Hours >= Max24HourSend)
    return `The daily quota of Amazon SES is spent: ${SentLast24Hours} of ${Max24HourSend} in the last 24 hours.`
  return null
}

const STOPPED = ['PAUSED', 'SHUTDOWN']
