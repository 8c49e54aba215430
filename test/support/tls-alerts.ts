import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { makeCertificates } from './certificates.ts'

export type AlertingServer = { port: number; close: () => Promise<void> }

/** A fatal alert as it stands on the wire, unencrypted. */
const fatalAlert = (description: number) => Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, description])

/** Answers the ClientHello with a TLS alert. */
export async function alertInHandshake(description: number): Promise<AlertingServer> {
  return listening(
    createServer(socket => {
      socket.on('error', () => {}).once('data', () => socket.end(fatalAlert(description)))
    }),
  )
}

/** Completes the handshake, takes the request, and breaks the TLS connection instead of answering it. */
export async function alertAfterRequest(description: number): Promise<AlertingServer & { requests: () => number }> {
  const { certificate: cert, key, remove } = await makeCertificates('IP:127.0.0.1')
  const clients: Socket[] = []
  let requests = 0
  const https = createHttpsServer({ cert, key }, request => {
    requests++
    request.resume().once('end', () => clients.at(-1)!.end(fatalAlert(description)))
  })
  const behind = await listening(https)
  const front = await listening(
    createServer(client => {
      clients.push(client.on('error', () => {}))
      const server = connect(behind.port, '127.0.0.1').on('error', () => {})
      client.on('data', chunk => server.write(chunk)).once('close', () => server.destroy())
      server.on('data', chunk => client.write(chunk))
    }),
  )
  const close = async () => {
    await front.close()
    await behind.close()
    await remove()
  }
  return { port: front.port, requests: () => requests, close }
}

async function listening(server: Server): Promise<AlertingServer> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as AddressInfo
  return { port, close: () => new Promise(resolve => server.close(() => resolve())) }
}
