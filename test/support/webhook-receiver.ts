import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebhookEvent } from '../../src/webhooks/events.ts'
import { type FakeServer, readBody, serve } from './fake-http.ts'
import { type TestCompany, type TestGateway, until } from './gateway.ts'
import type { Json } from './mail.ts'

export type Received = {
  path: string
  headers: Record<string, string>
  text: string
  body: WebhookEvent
  atMs: number
}

export type Receiver = FakeServer & {
  received: Received[]
  /** What path was asked for, in order. */
  at: (path: string) => Received[]
  /** Waits until so many have come to this path. */
  got: (path: string, count: number) => Promise<Received[]>
  /** How a path answers; 204 when nothing is said. */
  answer: (path: string, how: Answer) => void
}

type Answer = (response: ServerResponse, request: IncomingMessage, nth: number) => unknown

/** A company's server that writes down what it gets. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const answers = new Map<string, Answer>()
  const at = (path: string) => received.filter(one => one.path === path)
  const server = await serve(async (request, response) => {
    const text = await readBody(request)
    const path = request.url!
    const headers = request.headers as Record<string, string>
    received.push({ path, headers, text, body: JSON.parse(text), atMs: Date.now() })
    const answer = answers.get(path)
    if (answer) await answer(response, request, at(path).length)
    else response.writeHead(204).end()
  })
  return {
    ...server,
    received,
    at,
    got: (path, count) =>
      until(
        async () => at(path),
        found => found.length >= count,
      ),
    answer: (path, how) => void answers.set(path, how),
  }
}

export const withStatus =
  (status: number, headers: Record<string, string> = {}): Answer =>
  response =>
    response.writeHead(status, headers).end()

/** An endpoint of the company; the answer holds its secret. */
export async function register(
  gateway: TestGateway,
  company: TestCompany,
  url: string,
  change: Record<string, unknown> = {},
): Promise<Json> {
  const answer = await gateway.call(company, 'POST', '/v1/webhooks', { url, ...change })
  if (answer.status !== 201) throw new Error(`expected 201, got ${answer.status}: ${answer.text}`)
  return answer.body
}

export async function deliveriesOf(gateway: TestGateway, company: TestCompany, id: string): Promise<Json[]> {
  return (await gateway.call(company, 'GET', `/v1/webhooks/${id}/deliveries`)).body.data
}

/** The time of every retry has come, and no endpoint is left alone any longer. */
export async function comeDue({ db }: TestGateway): Promise<void> {
  await db.pool.query(`update webhook_deliveries set due_at = now() where due_at is not null`)
  await db.pool.query(`update webhook_state set resume_at = '-infinity'`)
}
