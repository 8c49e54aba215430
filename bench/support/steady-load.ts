import { connect, type Socket } from 'node:net'

export type SteadyLoad = {
  url: string
  headers: Record<string, string>
  /** The body of the nth request. */
  body: (nth: number) => string
  perSecond: number
  requests: number
  connections: number
}

type Request = { bytes: string; dueMs: number }

/**
 * POST requests at moments of their own, as those of many strangers are: at a steady rate, the gaps random. (`overallRate` of
 * autocannon sends the share of each second as fast as it can, and is silent for the rest of it: half the load would be bursts of
 * all of it.) Bare sockets, since whoever makes the load shares the cores with whoever bears it. A request that finds every
 * connection busy waits for one, and its time counts from when it was due.
 */
export async function loadSteadily(load: SteadyLoad): Promise<{ tookMs: number[]; refused: number }> {
  const { hostname, port, pathname } = new URL(load.url)
  const head = Object.entries({ host: 'localhost', ...load.headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const start = `POST ${pathname} HTTP/1.1\r\n${head.join('')}`
  const bytesOf = (body: string) => `${start}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const tookMs: number[] = []
  const waiting: Request[] = []
  let refused = 0
  const free = await Promise.all(
    Array.from({ length: load.connections }, () => open(hostname, Number(port), answered => finish(answered))),
  )
  let done = () => {}
  const allAnswered = new Promise<void>((resolve, reject) => {
    done = resolve
    for (const { socket } of free) socket.once('close', () => reject(new Error('The server closed a connection')))
  })
  // Looked at when all requests are made.
  allAnswered.catch(() => {})

  function finish({ connection, status, request }: { connection: Connection; status: number; request: Request }): void {
    tookMs.push(performance.now() - request.dueMs)
    if (status < 200 || status > 299) refused++
    const next = waiting.shift()
    if (next) connection.send(next)
    else free.push(connection)
    if (tookMs.length === load.requests) done()
  }

  let dueMs = performance.now()
  for (let nth = 0; nth < load.requests; nth++) {
    dueMs += (-Math.log(1 - Math.random()) * 1000) / load.perSecond
    while (performance.now() < dueMs) await new Promise(resolve => setTimeout(resolve, 1))
    const request = { bytes: bytesOf(load.body(nth)), dueMs }
    // In turns: one that rests for seconds is closed by the server.
    const connection = free.shift()
    if (connection) connection.send(request)
    else waiting.push(request)
  }
  await allAnswered
  for (const connection of free) connection.socket.destroy()
  return { tookMs, refused }
}

type Connection = { socket: Socket; send: (request: Request) => void }

/** One request at a time, answered with a content-length. */
async function open(
  host: string,
  port: number,
  onAnswer: (answered: { connection: Connection; status: number; request: Request }) => void,
): Promise<Connection> {
  const socket = connect({ host, port, noDelay: true })
  await new Promise<void>((resolve, reject) => void socket.once('connect', resolve).once('error', reject))
  let request: Request
  let received = ''
  const connection = {
    socket,
    send(next: Request) {
      request = next
      socket.write(next.bytes)
    },
  }
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk
    const [head, length] = /^.*?content-length: (\d+)\r\n.*?\r\n\r\n/is.exec(received) ?? []
    if (!head || received.length < head.length + Number(length)) return
    const status = Number(received.slice(9, 12))
    received = ''
    onAnswer({ connection, status, request })
  })
  return connection
}
