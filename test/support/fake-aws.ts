import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerJson, answerText, readBody, serve } from './fake-http.ts'
import { FakeIdentities } from './fake-identities.ts'
import { SesError } from './fake-ses-error.ts'
import { FakeSns, SnsError } from './fake-sns.ts'
import { sesEvent } from './ses-events.ts'
import type { Signer } from './sns.ts'

type Destination = {
  Enabled?: boolean
  MatchingEventTypes: string[]
  SnsDestination?: { TopicArn: string }
}

export type FakeAws = {
  url: string
  /** IAM actions of the calls so far, in order. */
  calls: string[]
  /** Those that change something. */
  changes: () => string[]
  /** Actions that the credentials may not call. */
  denied: Set<string>
  configurationSets: Map<string, Map<string, Destination>>
  sns: FakeSns
  identities: FakeIdentities
  account: Record<string, unknown>
  /** Senders that SES refuses. */
  unverifiedSenders: Set<string>
  close: () => Promise<void>
}

const CHANGE = /:(Create|Put|Update|Set|Delete|Subscribe)/

/**
 * The control planes of Amazon SES v2 (REST and JSON) and SNS (query and XML) with state, for the real SDK. A message with a configuration
 * set is published to its topic, if the topic's policy lets SES, and posted to the subscribers, signed.
 */
export async function startFakeAws(signer: Signer): Promise<FakeAws> {
  const configurationSets: FakeAws['configurationSets'] = new Map()
  const calls: string[] = []
  const denied = new Set<string>()
  const unverifiedSenders = new Set<string>()
  const sns = new FakeSns(signer)
  const identities = new FakeIdentities()
  const account: Record<string, unknown> = {
    EnforcementStatus: 'HEALTHY',
    ProductionAccessEnabled: true,
    SendQuota: { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 },
    SendingEnabled: true,
  }

  function sendEmail(body: {
    FromEmailAddress: string
    Destination: { ToAddresses: string[] }
    ConfigurationSetName?: string
  }) {
    if (unverifiedSenders.has(body.FromEmailAddress))
      throw new SesError(400, 'MessageRejected', 'Email address is not verified.')
    const messageId = `0100${randomUUID()}-000000`
    const destinations = configurationSets.get(body.ConfigurationSetName ?? '')
    for (const { Enabled, MatchingEventTypes, SnsDestination } of destinations?.values() ?? []) {
      if (!Enabled || !SnsDestination) continue
      for (const [type, kind] of [
        ['SEND', 'Send'],
        ['DELIVERY', 'Delivery'],
      ] as const)
        if (MatchingEventTypes.includes(type))
          sns.publishFromSes(SnsDestination.TopicArn, body.ConfigurationSetName!, {
            ...sesEvent(kind, { messageId, to: body.Destination.ToAddresses }),
          })
    }
    return { MessageId: messageId }
  }

  function destinationsOf(set: string): Map<string, Destination> {
    const found = configurationSets.get(set)
    if (!found) throw new SesError(404, 'NotFoundException', `Configuration set <${set}> does not exist.`)
    return found
  }

  // biome-ignore lint/suspicious/noExplicitAny: bodies of every call
  type Call = (body: any, ...path: string[]) => object
  const SES: [method: string, path: RegExp, action: string, call: Call][] = [
    ['GET', /^account$/, 'GetAccount', () => account],
    ['POST', /^outbound-emails$/, 'SendEmail', sendEmail],
    [
      'POST',
      /^configuration-sets$/,
      'CreateConfigurationSet',
      ({ ConfigurationSetName: name }) => {
        if (configurationSets.has(name)) throw new SesError(400, 'AlreadyExistsException', 'It exists.')
        configurationSets.set(name, new Map())
        return {}
      },
    ],
    [
      'GET',
      /^configuration-sets\/([^/]+)$/,
      'GetConfigurationSet',
      (_body, set) => ({
        ConfigurationSetName: destinationsOf(set!) && set,
      }),
    ],
    [
      'GET',
      /^configuration-sets\/([^/]+)\/event-destinations$/,
      'GetConfigurationSetEventDestinations',
      (_body, set) => ({
        EventDestinations: [...destinationsOf(set!)].map(([Name, one]) => ({ Name, ...one })),
      }),
    ],
    [
      'POST',
      /^configuration-sets\/([^/]+)\/event-destinations$/,
      'CreateConfigurationSetEventDestination',
      (body, set) => {
        destinationsOf(set!).set(body.EventDestinationName, body.EventDestination)
        return {}
      },
    ],
    [
      'PUT',
      /^configuration-sets\/([^/]+)\/event-destinations\/([^/]+)$/,
      'UpdateConfigurationSetEventDestination',
      (body, set, name) => {
        destinationsOf(set!).set(name!, body.EventDestination)
        return {}
      },
    ],
    ['POST', /^identities$/, 'CreateEmailIdentity', body => identities.create(body)],
    ['GET', /^identities\/([^/]+)$/, 'GetEmailIdentity', (_body, name) => identities.get(name!)],
    ['DELETE', /^identities\/([^/]+)$/, 'DeleteEmailIdentity', (_body, name) => identities.remove(name!)],
    [
      'PUT',
      /^identities\/([^/]+)\/mail-from$/,
      'PutEmailIdentityMailFromAttributes',
      (body, name) => identities.setMailFrom(name!, body),
    ],
  ]

  async function answerSes(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent(request.url!.replace(/^\/v2\/email\//, ''))
    const text = await readBody(request)
    const entry = SES.find(([method, pattern]) => method === request.method && pattern.test(path))
    if (!entry) return answerJson(response, 404, { message: 'Unknown operation' })
    const [, pattern, name, call] = entry
    try {
      take(`ses:${name}`)
      const [, ...parts] = pattern.exec(path)!
      answerJson(response, 200, call(text ? JSON.parse(text) : {}, ...parts), { 'x-amzn-requestid': randomUUID() })
    } catch (error) {
      if (!(error instanceof SesError)) throw error
      answerJson(response, error.status, { message: error.message }, { 'x-amzn-errortype': error.code })
    }
  }

  async function answerSns(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await readBody(request))
    const xml = { 'content-type': 'text/xml' }
    try {
      const action = form.get('Action')!
      take(`sns:${action}`)
      const result = sns.call(action, form)
      const body = `<${action}Response xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><${action}Result>${result}</${action}Result></${action}Response>`
      answerText(response, 200, body, xml)
    } catch (error) {
      const [status, code] =
        error instanceof SnsError
          ? [error.status, error.code]
          : error instanceof SesError
            ? [403, 'AuthorizationError']
            : [500, 'InternalError']
      const body = `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${(error as Error).message}</Message></Error></ErrorResponse>`
      answerText(response, status, body, xml)
    }
  }

  function take(action: string): void {
    calls.push(action)
    if (denied.has(action))
      throw new SesError(
        403,
        'AccessDeniedException',
        `User: arn:aws:iam::123456789012:user/ops is not authorized to perform: ${action}`,
      )
  }

  const server = await serve((request, response) =>
    request.url!.startsWith('/v2/email/') ? answerSes(request, response) : answerSns(request, response),
  )
  return {
    url: server.url,
    calls,
    changes: () => calls.filter(call => CHANGE.test(call)),
    denied,
    configurationSets,
    sns,
    identities,
    account,
    unverifiedSenders,
    close: () => server.close(),
  }
}
