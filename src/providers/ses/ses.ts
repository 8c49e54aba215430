import { Agent as HttpAgent } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import {
  GetAccountCommand,
  type GetAccountCommandOutput,
  SESv2Client,
  type SESv2ClientConfig,
  SESv2ServiceException,
  SendEmailCommand,
  type SendEmailCommandInput,
} from '@aws-sdk/client-sesv2'
import { describeThrown, markHandshakeError, orAborted, readRateHeaders, timedOut } from '../answers.ts'
import { classifyProviderError, type ProviderFailure } from '../errors/classify.ts'
import { bareAddress, composeMime, encodedAddress } from '../mime.ts'
import {
  LIMIT_ANSWERS_STEP,
  limitAnswers,
  type OutgoingMessage,
  type Provider,
  type ProviderQuota,
  providerTags,
  type SendResult,
} from '../provider.ts'

type SesOptions = {
  /** `ses`, or `ses:eu-west-1` where several regions are in use. */
  name: string
  region: string
  configurationSet: string | null
  /** Overrides the region's endpoint and AWS_ENDPOINT_URL_SESV2. */
  endpoint?: string
  /** Overrides the SDK's credential chain. */
  credentials?: NonNullable<SESv2ClientConfig['credentials']>
  /** At least the number of concurrent attempts: a call that waits for a socket looks like one that waits for SES. */
  maxSockets?: number
  /** The timeout of the connection, and again of its TLS handshake. */
  connectMs?: number
}

/** The largest WORKER_CONCURRENCY. */
const MAX_SOCKETS = 1000
const CONNECT_MS = 5_000
/** Only for calls whose signal has no timeout. */
const REQUEST_MS = 60_000

export function sesProvider(options: SesOptions): Provider {
  const client = new SESv2Client(clientConfig(options))
  client.middlewareStack.add(limitAnswers, LIMIT_ANSWERS_STEP)
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
    // By default the SDK makes three attempts, and its request timeout only logs a warning.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      ...keepAliveAgents({ maxSockets, handshakeMs: connectMs }),
    },
  }
}

/** The used part of the SDK's HttpResponse. */
type SesResponse = { headers?: Record<string, string>; body?: unknown }

async function sendOnce(
  client: SESv2Client,
  message: OutgoingMessage,
  configurationSet: string | null,
  signal: AbortSignal,
): Promise<SendResult> {
  if (signal.aborted) return { kind: 'failed', failure: timedOut('ses', 'unsent') }
  const command = new SendEmailCommand(await toSesRequest(message, configurationSet))
  // Nothing is sent before the last middleware step; until then the SDK may still be fetching credentials.
  let mayHaveLeft = false
  let headers: SesResponse['headers']
  command.middlewareStack.add(
    next => async args => {
      mayHaveLeft = !signal.aborted
      const result = await next(args)
      headers = (result.response as SesResponse).headers
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'trackSending' },
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
    // For an error response, `code` is a field of the body and not a network code, and the SDK fills in a missing type.
    ...(error instanceof SESv2ServiceException && { networkCode: undefined }),
    ownForm: headers['x-amzn-errortype'] !== undefined || __type !== undefined,
  })
}

function toQuota(account: GetAccountCommandOutput): ProviderQuota {
  const { MaxSendRate } = account.SendQuota ?? {}
  return { recipientsPerSecond: MaxSendRate && MaxSendRate > 0 ? MaxSendRate : null, paused: reasonOfPause(account) }
}

function reasonOfPause({ SendingEnabled, EnforcementStatus = '', SendQuota }: GetAccountCommandOutput): string | null {
  if (STOPPED.includes(EnforcementStatus))
    return `Amazon SES has stopped this account: its status is ${EnforcementStatus}.`
  if (SendingEnabled === false) return 'Sending is switched off for this Amazon SES account.'
  const { Max24HourSend = 0, SentLast24Hours = 0 } = SendQuota ?? {}
  // -1 means no limit.
  if (Max24HourSend > 0 && SentLast24Hours >= Max24HourSend)
    return `The daily quota of Amazon SES is spent: ${SentLast24Hours} of ${Max24HourSend} in the last 24 hours.`
  return null
}

const STOPPED = ['PAUSED', 'SHUTDOWN']

/** Shorter than the idle timeout of any server, so that no connection is closed while a message is written to it. */
const IDLE_MS = 15_000

type AgentLimits = { maxSockets: number; handshakeMs: number }

function keepAliveAgents({ maxSockets, handshakeMs }: AgentLimits) {
  const options = { keepAlive: true, maxSockets, timeout: IDLE_MS, scheduling: 'lifo' as const }
  return { httpAgent: new HttpAgent(options), httpsAgent: new HandshakeTimeoutAgent(options, handshakeMs) }
}

/**
 * Adds a timeout for the TLS handshake, which Node does not have: a peer that is silent during the handshake would look like one that
 * took the message. Errors before the end of the handshake get a code which shows that nothing was sent.
 */
class HandshakeTimeoutAgent extends HttpsAgent {
  readonly #handshakeMs: number

  constructor(options: AgentOptions, handshakeMs: number) {
    super(options)
    this.#handshakeMs = handshakeMs
  }

  override createConnection(...args: Parameters<HttpsAgent['createConnection']>): Duplex | null | undefined {
    const socket = super.createConnection(...args)
    if (socket instanceof TLSSocket) this.#watch(socket)
    return socket
  }

  #watch(socket: TLSSocket): void {
    const timer = setTimeout(() => {
      const message = `The peer was silent for ${this.#handshakeMs} ms before secure TLS connection was established`
      socket.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }))
    }, this.#handshakeMs)
    socket.once('error', markHandshakeError).once('close', () => clearTimeout(timer))
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('error', markHandshakeError)
    })
  }
}

/** SES builds simple messages itself; messages with attachments or custom headers are sent as MIME. */
async function toSesRequest(message: OutgoingMessage, configurationSet: string | null): Promise<SendEmailCommandInput> {
  const plain = message.attachments.length === 0 && Object.keys(message.headers).length === 0
  return {
    ...(configurationSet && { ConfigurationSetName: configurationSet }),
    EmailTags: providerTags(message).map(({ name, value }) => ({ Name: name, Value: value })),
    ...(plain ? simple(message) : await raw(message)),
  }
}

function simple({ from, to, cc, bcc, replyTo, subject, html, text }: OutgoingMessage): SendEmailCommandInput {
  return {
    FromEmailAddress: encodedAddress(from),
    ...(replyTo.length > 0 && { ReplyToAddresses: replyTo.map(encodedAddress) }),
    Destination: {
      ToAddresses: to.map(encodedAddress),
      CcAddresses: cc.map(encodedAddress),
      BccAddresses: bcc.map(encodedAddress),
    },
    Content: {
      Simple: {
        Subject: utf8(subject),
        Body: { ...((text || html === null) && { Text: utf8(text) }), ...(html !== null && { Html: utf8(html) }) },
      },
    },
  }
}

/** Destination decides the recipients; display names are in the MIME headers. */
async function raw(message: OutgoingMessage): Promise<SendEmailCommandInput> {
  return {
    FromEmailAddress: encodedAddress(message.from),
    Destination: {
      ToAddresses: message.to.map(bareAddress),
      CcAddresses: message.cc.map(bareAddress),
      BccAddresses: message.bcc.map(bareAddress),
    },
    Content: { Raw: { Data: await composeMime(message) } },
  }
}

const utf8 = (text: string) => ({ Data: text, Charset: 'UTF-8' })
