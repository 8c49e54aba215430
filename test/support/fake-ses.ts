import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bareAddress } from '../../src/providers/mime.ts'
import { type FakeAnswer, play, takeAnswer, takeUnread } from './answer-plan.ts'
import { answerJson, answerText, readBody, serve } from './fake-http.ts'
import { type FakeControl, FakeProviderState, type FakeStats } from './fake-provider-state.ts'

/** One accepted message: a line of the log file, and of GET /control/log. */
export type SesAcceptance = {
  seq?: number
  at?: string
  messageId: string
  outboxId: string | undefined
  attemptId: string | undefined
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  subject: string | null
  tags: Record<string, string>
  configurationSet: string | null
  kind: 'simple' | 'raw'
}

export type SesControl = FakeControl & { account?: object; accountAnswer?: FakeAnswer | null }

export type FakeSes = {
  url: string
  control: (change: SesControl) => void
  accepted: SesAcceptance[]
  stats: FakeStats
  /** Bodies as they came, when kept. */
  bodies: SesBody[]
  /** Requests above the limit so far. */
  throttled: () => number
  close: () => Promise<void>
}

export type FakeSesOptions = { logFile?: string; port?: number; keepBodies?: boolean }

type SesBody = {
  FromEmailAddress: string
  ReplyToAddresses?: string[]
  Destination: { ToAddresses?: string[]; CcAddresses?: string[]; BccAddresses?: string[] }
  Content: {
    Simple?: { Subject: { Data: string }; Body: { Text?: { Data: string }; Html?: { Data: string } } }
    Raw?: { Data: string }
  }
  EmailTags?: { Name: string; Value: string }[]
  ConfigurationSetName?: string
}

const ACCOUNT = {
  DedicatedIpAutoWarmupEnabled: false,
  EnforcementStatus: 'HEALTHY',
  ProductionAccessEnabled: true,
  SendQuota: { Max24HourSend: 50_000, MaxSendRate: 14, SentLast24Hours: 0 },
  SendingEnabled: true,
}

/** Amazon SES v2 as far as the gateway uses it, REST and JSON. */
export async function startFakeSes({ logFile, port, keepBodies = true }: FakeSesOptions = {}): Promise<FakeSes> {
  const state = new FakeProviderState<SesAcceptance>(logFile)
  const bodies: SesBody[] = []
  let account: object = ACCOUNT
  let accountAnswer: FakeAnswer | null = null

  function control({ account: change, accountAnswer: answer, ...plan }: SesControl): void {
    if (plan.reset) {
      account = ACCOUNT
      accountAnswer = null
      bodies.length = 0
    }
    state.control(plan)
    if (change) account = { ...account, ...change }
    if (answer !== undefined) accountAnswer = answer
  }

  async function sendEmail(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cut = () => void request.socket.resetAndDestroy()
    if (takeUnread(state.plan)) return cut()
    const text = await readBody(request)
    const over = state.overLimit()
    if (over) {
      const name = 'TooManyRequestsException'
      return answerJson(
        response,
        429,
        { message: 'Maximum sending rate exceeded.' },
        { 'x-amzn-errortype': name, ...over },
      )
    }
    const body: SesBody = JSON.parse(text)
    if (keepBodies) bodies.push(body)
    const acceptance = toAcceptance(body)
    const recipients = [...acceptance.to, ...acceptance.cc, ...acceptance.bcc]
    await play(takeAnswer(state.plan, { recipients, tags: acceptance.tags }), {
      accept: () => state.accept(acceptance),
      answer: how => (how === 'ok' ? answerOk(response, { MessageId: acceptance.messageId }) : answerAs(response, how)),
      cut,
    })
  }

  const server = await serve(async (request, response) => {
    if (await state.answerControl(request, response, body => control(body))) return
    state.arrived(response)
    const route = `${request.method} ${request.url}`
    if (route === 'POST /v2/email/outbound-emails') return sendEmail(request, response)
    if (route !== 'GET /v2/email/account') return answerJson(response, 404, { message: 'Unknown operation' })
    if (!accountAnswer) answerOk(response, account)
    else if (accountAnswer.kind !== 'hang') answerAs(response, accountAnswer)
  }, port)

  return {
    url: server.url,
    control,
    accepted: state.accepted,
    stats: state.stats,
    bodies,
    throttled: () => state.throttled,
    async close() {
      await server.close()
      await state.close()
    },
  }
}

const answerOk = (response: ServerResponse, body: object) =>
  answerJson(response, 200, body, { 'x-amzn-requestid': randomUUID() })

function answerAs(response: ServerResponse, answer: FakeAnswer): void {
  if (answer.kind === 'text') {
    answerText(response, answer.status, answer.body, { 'content-type': answer.contentType ?? 'text/html' })
  } else if (answer.kind === 'error') {
    const { status, name, message = name } = answer
    const headers = { 'x-amzn-errortype': name, 'x-amzn-requestid': randomUUID() }
    answerJson(response, status, { __type: name, message }, headers)
  }
}

function toAcceptance({ Destination, Content, EmailTags = [], ...body }: SesBody): SesAcceptance {
  const tags = Object.fromEntries(EmailTags.map(({ Name, Value }) => [Name, Value]))
  const bare = (list: string[] = []) => list.map(one => bareAddress(one).toLowerCase())
  return {
    messageId: `0100${randomBytes(14).toString('hex')}-${randomUUID()}-000000`,
    outboxId: tags.outbox_id,
    attemptId: tags.attempt_id,
    from: bareAddress(body.FromEmailAddress),
    to: bare(Destination.ToAddresses),
    cc: bare(Destination.CcAddresses),
    bcc: bare(Destination.BccAddresses),
    subject: Content.Simple?.Subject.Data ?? null,
    tags,
    configurationSet: body.ConfigurationSetName ?? null,
    kind: Content.Simple ? 'simple' : 'raw',
  }
}
