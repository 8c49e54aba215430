import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type FakeServer = { url: string; close: () => Promise<void> }
export type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** A server on a free port of the loopback, which ends at once when told to, hanging requests and all. */
export async function serve(handle: Handle, port = 0): Promise<FakeServer> {
  const server = createServer((request, response) => {
    handle(request, response).catch(error => {
      // The client went away while it was read from; anything else is a bug in the fake.
      if (!request.destroyed) answerJson(response, 500, { message: String(error) })
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  answerText(response, status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
}

export function answerText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string>,
): void {
  response.writeHead(status, { 'content-length': Buffer.byteLength(text), ...headers }).end(text)
}
