import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type TcpProxy = {
  /** The target's URL, by way of the proxy. */
  url: string
  /** Connections that are open now, or those chosen, become half-open: the server is gone, and the client is never told. */
  halfOpen: (chosen?: () => boolean) => number
  /** Every byte of every connection, also of new ones, is dropped, and nothing is closed, until it is turned off. */
  blackHole: (on: boolean) => void
  /** Every byte arrives so much later, in each direction. */
  slow: (delayMs: number) => void
  /** Everything that is open is reset, and so is every new connection, until it is turned off. */
  refuse: (on: boolean) => void
  /** Closes what is open, or what is chosen of it, with a reset; new connections work. */
  reset: (chosen?: () => boolean) => void
  close: () => Promise<void>
}

type Pair = { client: Socket; server: Socket; dropping: boolean }

/** A network of one's own between two programs, which fails as real ones do. */
export async function startTcpProxy(targetUrl: string, defaultPort = 0): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const port = Number(target.port || defaultPort)
  const pairs = new Set<Pair>()
  let droppingAll = false
  let refusing = false
  let delayMs = 0

  const listener = createServer({ noDelay: true }, client => {
    client.on('error', () => {})
    if (refusing) return void client.resetAndDestroy()
    const server = connect({ port, host: target.hostname, noDelay: true })
    const pair: Pair = { client, server, dropping: false }
    pairs.add(pair)
    pass(client, server, pair)
    pass(server, client, pair)
  })

  function pass(from: Socket, to: Socket, pair: Pair): void {
    from.on('error', () => {})
    // One after the other: what comes after a shorter delay does not overtake what came before.
    let last = Promise.resolve()
    const inTurn = (act: () => void) => {
      const wait = delayMs > 0 ? sleep(delayMs, null, { ref: false }) : null
      last = last.then(() => wait).then(act)
    }
    from.on('data', data => {
      if (!droppingAll && !pair.dropping) inTurn(() => void (pair.dropping || to.destroyed || to.write(data)))
    })
    from.on('close', () => {
      if (from === pair.client) pairs.delete(pair)
      if (from === pair.client || !pair.dropping) inTurn(() => void to.destroy())
    })
  }

  await new Promise<void>(resolve => void listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as { port: number }).port)
  const each = (act: (pair: Pair) => void) => [...pairs].forEach(act)
  const resetBoth = ({ client, server }: Pair) => {
    server.destroy()
    client.resetAndDestroy()
  }

  return {
    url: url.href,
    halfOpen(chosen = () => true) {
      const open = [...pairs].filter(pair => !pair.dropping && chosen())
      for (const pair of open) {
        pair.dropping = true
        pair.server.destroy()
      }
      return open.length
    },
    blackHole(on) {
      // What was lost in between is lost: those connections stay silent.
      if (on) for (const pair of pairs) pair.dropping = true
      droppingAll = on
    },
    slow(ms) {
      delayMs = ms
    },
    refuse(on) {
      refusing = on
      if (on) each(resetBoth)
    },
    reset(chosen = () => true) {
      each(pair => {
        if (chosen()) resetBoth(pair)
      })
    },
    async close() {
      each(pair => {
        pair.server.destroy()
        pair.client.destroy()
      })
      await new Promise<void>(resolve => void listener.close(() => resolve()))
    },
  }
}
