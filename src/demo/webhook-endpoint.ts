import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type DemoEndpoint = { url: string; close: () => Promise<void> }

/** The other side of the webhooks: /well answers 200; /badly answers 500 to one in three. */
export async function startDemoEndpoint(random: () => number): Promise<DemoEndpoint> {
  const server = createServer((request, response) => {
    const fails = request.url === '/badly' && random() < 0.33
    request.resume().on('end', () => {
      response.writeHead(fails ? 500 : 200, { 'content-type': 'text/plain' }).end(fails ? 'out of order' : 'thank you')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
