import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A collector that reads what it gets and keeps nothing. Prints its address. */
const server = createServer((request, response) => {
  request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit(0))
