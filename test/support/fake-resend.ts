import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bareAddress } from '../../src/providers/mime.ts'
import { type FakeAnswer, play, takeAnswer, takeUnread } from './answer-plan.ts'
import { answerJson, answerText, readBody, serve } from './fake-http.ts'
import { type FakeControl, FakeProviderState, type FakeStats } from './fake-provider-state.ts'

export type ResendBody = {
  from: string
  to: string[]
  cc?: string[]
  bcc?: string[]
  reply_to?: string[]
  subject: string
  html?: string
  text?: string
  headers?: Record<string, string>
  tags?: { name: string; value: string }[]
  attachments?: { filename: string; content: string; content_type?: string; content_id?: string }[]
}

/** One accepted message: a line of the log file, and of GET /control/log. */
type ResendAcceptance = {
  seq?: number
  at?: string
  id: string
  key: string | undefined
  outboxId: string | undefined
  attemptId: string | undefined
  recipients: string[]
  subject: string
  tags: Record<string, string>
}

type ResendDomain = {
  id: string
  name: string
  status: string
  records: { record: string; name: string; type: string; value: string; priority?: number }[]
}

export type FakeResend = {
  url: string
  control: (change: FakeControl) => void
  accepted: ResendAcceptance[]
  stats: FakeStats
  requests: { headers: IncomingMessage['headers']; body: ResendBody }[]
  domains: ResendDomain[]
  /** Requests above the limit so far. */
  throttled: () => number
  close: () => Promise<void>
}

export type FakeResendOptions = { apiKey?: string; logFile?: string; port?: number }

/** Under one key: the text it came with, and the id once it was accepted. */
type Kept = { text: string; id: string | null; running: boolean }

/** Resend's POST /emails, with its idempotency: one key, one message. */
export async function startFakeResend({ apiKey, logFile, port }: FakeResendOptions = {}): Promise<FakeResend> {
  const state = new FakeProviderState<ResendAcceptance>(logFile)
  const requests: FakeResend['requests'] = []
  const keys = new Map<string, Kept>()
  const domains: ResendDomain[] = []

  function control(change: FakeControl): void {
    if (change.reset) {
      keys.clear()
      requests.length = 0
    }
    state.control(change)
  }

  async function sendEmail(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cut = () => void request.socket.resetAndDestroy()
    if (takeUnread(state.plan)) return cut()
    const text = await readBody(request)
    const over = state.overLimit()
    if (over) {
      const refusal = { statusCode: 429, name: 'rate_limit_exceeded', message: 'Too many requests' }
      return answerJson(response, 429, refusal, over)
    }
    const body: ResendBody = JSON.parse(text)
    requests.push({ headers: request.headers, body })
    const key = request.headers['idempotency-key']?.toString()
    const known = key === undefined ? undefined : keys.get(key)
    if (known) return answerKnown(response, known, text)
    const kept: Kept = { text, id: null, running: true }
    if (key) keys.set(key, kept)
    const settled = () => {
      kept.running = false
      if (key && !kept.id) keys.delete(key)
    }
    response.once('close', settled)
    const acceptance = toAcceptance(body, key)
    await play(takeAnswer(state.plan, acceptance), {
      async accept() {
        kept.id = acceptance.id
        await state.accept(acceptance)
      },
      answer(how) {
        settled()
        if (how === 'ok') answerJson(response, 200, { id: acceptance.id })
        else answerAs(response, how)
      },
      cut,
    })
  }

  const server = await serve(async (request, response) => {
    if (await state.answerControl(request, response, body => control(body))) return
    state.arrived(response)
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const route = `${request.method} ${request.url}`
    const ofDomains = /^\/domains(?:$|[/?])/.test(request.url!)
    if (route !== 'POST /emails' && !ofDomains) return refuse(response, 404, 'not_found')
    if (!given) return refuse(response, 401, 'missing_api_key')
    if (apiKey && given !== apiKey) return refuse(response, 403, 'invalid_api_key')
    if (ofDomains) return answerDomains(request, response, domains)
    return sendEmail(request, response)
  }, port)

  const close = () => server.close().then(() => state.close())
  const throttled = () => state.throttled
  return { url: server.url, control, accepted: state.accepted, stats: state.stats, requests, domains, throttled, close }
}

async function answerDomains(request: IncomingMessage, response: ServerResponse, domains: ResendDomain[]) {
  const [, , id, verb] = request.url!.split(/[/?]/)
  const found = domains.find(one => one.id === id)
  if (request.method === 'POST' && !id) {
    const { name } = JSON.parse(await readBody(request))
    const domain = { id: randomUUID(), name, status: 'not_started', records: recordsOf() }
    domains.push(domain)
    return answerJson(response, 201, domain)
  }
  if (!request.url!.startsWith('/domains/'))
    return answerJson(response, 200, { object: 'list', has_more: false, data: domains })
  if (!found) return refuse(response, 404, 'not_found')
  // The tests say when Resend has seen the records.
  if (verb === 'verify' && found.status === 'not_started') found.status = 'pending'
  if (request.method === 'DELETE') domains.splice(domains.indexOf(found), 1)
  return answerJson(response, 200, { object: 'domain', ...found })
}

const recordsOf = (): ResendDomain['records'] => [
  { record: 'SPF', name: 'send', type: 'MX', value: 'feedback-smtp.us-east-1.amazonses.com', priority: 10 },
  { record: 'SPF', name: 'send', type: 'TXT', value: 'v=spf1 include:amazonses.com ~all' },
  { record: 'DKIM', name: 'resend._domainkey', type: 'TXT', value: 'p=MIGfMA0' },
]

function answerKnown(response: ServerResponse, { text, id, running }: Kept, now: string): void {
  if (text !== now) refuse(response, 409, 'invalid_idempotent_request')
  else if (running) refuse(response, 409, 'concurrent_idempotent_requests')
  else answerJson(response, 200, { id })
}

function answerAs(response: ServerResponse, answer: FakeAnswer): void {
  if (answer.kind === 'text') {
    answerText(response, answer.status, answer.body, { 'content-type': answer.contentType ?? 'text/html' })
  } else if (answer.kind === 'error') refuse(response, answer.status, answer.name, answer.message)
}

function refuse(response: ServerResponse, statusCode: number, name: string, message = name): void {
  answerJson(response, statusCode, { statusCode, name, message })
}

function toAcceptance({ to, cc = [], bcc = [], subject, tags = [] }: ResendBody, key: string | undefined) {
  const named = Object.fromEntries(tags.map(({ name, value }) => [name, value]))
  const recipients = [...to, ...cc, ...bcc].map(one => bareAddress(one).toLowerCase())
  return {
    id: randomUUID(),
    key,
    outboxId: named.outbox_id,
    attemptId: named.attempt_id,
    recipients,
    subject,
    tags: named,
  }
}
