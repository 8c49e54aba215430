import { connect, createServer, type Socket } from 'node:net'

export type PostgresProxy = {
  /** The same database, through the proxy. */
  url: string
  /** Connections that came so far. */
  connections: () => number
  /** As soon as a client sends this text: every connection ends, and none is taken any more. */
  cutAt: (text: string) => void
  /** Every connection ends, and none is taken until `restore`. */
  cut: () => void
  restore: () => void
  /** From now on nothing goes through, and nothing ends. */
  fallSilent: () => void
  close: () => Promise<void>
}

/** Stands between a gateway and its Postgres, to be lost at a chosen moment. */
export async function startPostgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let text: string | null = null
  let isCut = false
  let isSilent = false
  let count = 0
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer(client => {
    count++
    keep(client)
    if (isCut) return void client.destroy()
    if (isSilent) return
    const upstream = connect(Number(target.port), target.hostname)
    keep(upstream)
    client.on('data', chunk => {
      if (text !== null && chunk.includes(text)) return cut()
      if (!isSilent) upstream.write(chunk)
    })
    upstream.on('data', chunk => void (isSilent || client.write(chunk)))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  function keep(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    connections: () => count,
    cutAt: wanted => {
      text = wanted
    },
    cut,
    restore: () => {
      isCut = false
    },
    fallSilent: () => {
      isSilent = true
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
