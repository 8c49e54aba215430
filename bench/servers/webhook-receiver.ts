import { createServer } from 'node:http'

/** Companies' servers in one process: /ok/… takes everything, /fail/… answers 500, /hang/… never answers. */
const server = createServer((request, response) => {
  request.resume()
  if (request.url!.startsWith('/hang/')) return
  request.on('end', () => response.writeHead(request.url!.startsWith('/ok/') ? 204 : 500).end())
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
})
