import { createServer, type Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

type SmtpDelivery = { from: string; to: string[]; user: string | null; raw: Buffer; session: string }
export type SmtpRefusal = { code: number; text: string }

export type FakeSmtp = {
  port: number
  deliveries: SmtpDelivery[]
  /** How many connections were made. */
  connections: () => number
  refuse: (
    step: Partial<Record<'sender' | 'message', SmtpRefusal>> & { recipients?: Record<string, SmtpRefusal> },
  ) => void
  close: () => Promise<void>
}

/** A real server that takes everything but what it was told to refuse. */
export async function startFakeSmtp(
  options: SMTPServerOptions & { users?: Record<string, string> } = {},
  port = 0,
): Promise<FakeSmtp> {
  const { users, ...given } = options
  const deliveries: SmtpDelivery[] = []
  let refusals: Parameters<FakeSmtp['refuse']>[0] = {}
  let connections = 0
  const server = new SMTPServer({
    authOptional: !users,
    disabledCommands: users ? ['STARTTLS'] : ['STARTTLS', 'AUTH'],
    allowInsecureAuth: true,
    onConnect(_session, done) {
      connections++
      done()
    },
    onAuth({ username = '', password }, _session, done) {
      done(users?.[username] === password ? null : refusal({ code: 535, text: '5.7.8 no' }), { user: username })
    },
    onMailFrom: (_address, _session, done) => done(refusal(refusals.sender)),
    onRcptTo: ({ address }, _session, done) => done(refusal(refusals.recipients?.[address])),
    onData(stream, { envelope, user, id }, done) {
      const chunks: Buffer[] = []
      stream.on('data', chunk => chunks.push(chunk))
      stream.on('end', () => {
        if (refusals.message) return done(refusal(refusals.message))
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(one => one.address)
        deliveries.push({ from, to, user: user ?? null, raw: Buffer.concat(chunks), session: id })
        done()
      })
    },
    ...given,
  })
  // A client that goes away in the middle is what some tests are about.
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    port: (server.server.address() as { port: number }).port,
    deliveries,
    connections: () => connections,
    refuse: change => {
      refusals = change
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
}

function refusal(what: SmtpRefusal | undefined): Error | null {
  return what ? Object.assign(new Error(what.text), { responseCode: what.code }) : null
}

export type BreakAt = 'connect' | 'ehlo' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot'
export type BreakingSmtp = {
  port: number
  /** Connections that stand, once those that fell silent have looked again. */
  open: () => number
  connections: () => number
  /** How many have come to the point. */
  broken: () => number
  accepted: () => number
  close: () => Promise<void>
}

/**
 * Speaks just enough SMTP to come to one point, and there drops the connection, falls silent or begins a reply without end; `first` takes that many
 * messages on each connection before. `body`: with the message on its way and, when it is large, far from its end.
 * `dot`: with the message complete.
 */
export async function startBreakingSmtp(
  at: BreakAt,
  how: 'drop' | 'hang' | 'flood',
  { first = 0 } = {},
): Promise<BreakingSmtp> {
  const sockets = new Set<Socket>()
  let connections = 0
  let broken = 0
  let accepted = 0
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    const breakOff = () => {
      broken++
      socket.removeAllListeners('data')
      if (how === 'drop') socket.destroy()
      else if (how === 'flood') flood(socket)
      else socket.pause()
    }
    converse(socket, at, { first, breakOff, accept: () => accepted++ })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as { port: number }).port,
    open() {
      for (const socket of sockets) socket.resume()
      return sockets.size
    },
    connections: () => connections,
    broken: () => broken,
    accepted: () => accepted,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function flood(socket: Socket): void {
  socket.write('250 ')
  const more = () => {
    while (!socket.destroyed && socket.write('x'.repeat(65_536)));
  }
  socket.on('drain', more)
  more()
}

const REPLIES: Record<string, string> = {
  ehlo: '250 breaking.test',
  mail: '250 ok',
  rcpt: '250 ok',
  data: '354 go on',
  rset: '250 ok',
  quit: '221 bye',
}

type Plot = { first: number; breakOff: () => void; accept: () => void }

function converse(socket: Socket, at: BreakAt, { first, breakOff, accept }: Plot): void {
  let left = first
  let inBody = false
  let seen = ''
  const breaksAt = (point: BreakAt | string) => point === at && left === 0
  if (breaksAt('connect')) {
    breakOff()
    return
  }
  socket.write('220 breaking.test ESMTP\r\n')
  socket.on('data', chunk => {
    seen += chunk
    const complete = inBody ? seen.endsWith('\r\n.\r\n') : seen.endsWith('\r\n')
    if (inBody && breaksAt('body')) breakOff()
    if (!complete || socket.isPaused() || socket.destroyed) return
    const verb = inBody ? 'dot' : seen.slice(0, 4).toLowerCase()
    seen = ''
    if (breaksAt(verb)) {
      breakOff()
      return
    }
    if (inBody) {
      left--
      accept()
    }
    inBody = verb === 'data'
    socket.write(`${verb === 'dot' ? '250 taken' : (REPLIES[verb] ?? '500 what?')}\r\n`)
  })
}

export type TalkativeSmtp = {
  port: number
  accepted: () => number
  connections: () => number
  close: () => Promise<void>
}

/**
 * Says one thing too many, once on each connection: `extra` after its reply to the first such command, in the same packet or
 * (`later`) when the next command has come, before the reply to it. `body`: with the first part of a message.
 */
export async function startTalkativeSmtp(
  at: Exclude<BreakAt, 'ehlo'>,
  extra: string,
  { later = false, pipelining = false, replies = {} as Record<string, string> } = {},
): Promise<TalkativeSmtp> {
  const sockets = new Set<Socket>()
  let connections = 0
  let accepted = 0
  const server = createServer(socket => {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
    let kept = ''
    let said = false
    let inBody = false
    let seen = ''
    const answer = (point: string, reply: string) => {
      const before = kept
      kept = ''
      const isPoint = point === at && !said
      said ||= isPoint
      if (isPoint && later) kept = `${extra}\r\n`
      socket.write(`${before}${reply}\r\n${isPoint && !later ? `${extra}\r\n` : ''}`)
    }
    answer('connect', '220 talkative.test ESMTP')
    socket.on('data', chunk => {
      seen += chunk
      if (inBody && at === 'body' && !said) {
        said = true
        socket.write(`${extra}\r\n`)
      }
      for (;;) {
        const end = seen.indexOf(inBody ? '\r\n.\r\n' : '\r\n')
        if (end === -1) return
        const verb = inBody ? 'dot' : seen.slice(0, 4).toLowerCase()
        seen = seen.slice(end + (inBody ? 5 : 2))
        const hello = pipelining ? '250-talkative.test\r\n250 PIPELINING' : '250 talkative.test'
        const reply = { ...REPLIES, ehlo: hello, dot: '250 taken', ...replies }[verb] ?? '500 what?'
        if (inBody && !reply.startsWith('5')) accepted++
        inBody = verb === 'data'
        answer(verb, reply)
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.address() as { port: number }).port,
    accepted: () => accepted,
    connections: () => connections,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
