import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { FairSlots } from '../runtime/fair-semaphore.ts'
import { addRecipient, receiveMessage, type Session, type SmtpDeps, startMessage } from './commands.ts'
import { ConnectionCounts, isLoopback } from './connections.ts'
import { SMTP_LIMITS, type SmtpLimits } from './limits.ts'
import { loginCheck } from './login.ts'
import { Refused } from './refused.ts'
import { toRefused } from './replies.ts'

export type SmtpOptions = {
  host: string
  port: number
  /** null: only programs of this machine can log in. */
  tls: { mode: 'starttls' | 'implicit'; certificate: string; key: string } | null
}

export type SmtpServer = { port: number; stop(): Promise<void> }

/** Jokes of old mail servers that smtp-server answers. */
const JOKES = ['WIZ', 'SHELL', 'KILL']
const WAITING_FOR_MEMORY = 64

/** Listens for SMTP. Every message becomes an e-mail through the same accept step as an HTTP request. */
export async function startSmtpServer(
  { host, port, tls }: SmtpOptions,
  deps: SmtpDeps,
  limits: SmtpLimits = SMTP_LIMITS,
): Promise<SmtpServer> {
  const { log } = deps
  const connections = new ConnectionCounts(limits.connectionsPerNetwork)
  const logIn = loginCheck(deps.verify)
  const memory = new FairSlots({ ...limits.memoryBytes, waitingPerKey: WAITING_FOR_MEMORY })
  const loginTimers = new Map<string, NodeJS.Timeout>()
  const receiving = new Set<string>()
  const disabledCommands = tls?.mode === 'starttls' ? JOKES : [...JOKES, 'STARTTLS']
  let stopping = false

  const server = new SMTPServer({
    ...protocolOptions(tls, limits),
    disabledCommands,
    onConnect(session, done) {
      if (!connections.open(session.id, session.remoteAddress))
        return done(new Refused(421, '4.7.0', 'Too many connections from this address'))
      if (!session.secure && !isLoopback(session.remoteAddress))
        session.disabledCommands = [...disabledCommands, 'AUTH']
      loginTimers.set(
        session.id,
        setTimeout(() => end(session, '4.4.2 No AUTH within the time allowed'), limits.loginWithinMs),
      )
      done()
    },
    onSecure(_socket, session, done) {
      session.disabledCommands = disabledCommands
      done()
    },
    onAuth({ username, password }, session, done) {
      logIn(username ?? '', password ?? '', session.remoteAddress).then(
        user => {
          stopLoginTimer(session)
          done(null, { user })
        },
        error => done(toRefused(error, log)),
      )
    },
    onMailFrom(_address, session, done) {
      if (!session.user && !session.secure && !isLoopback(session.remoteAddress))
        return done(
          new Refused(530, '5.7.0', tls ? 'STARTTLS is required first' : 'TLS is required, and not set up here'),
        )
      startMessage(session, deps).then(
        () => done(),
        error => done(toRefused(error, log)),
      )
    },
    onRcptTo(address, session, done) {
      try {
        addRecipient(address, session, limits)
        done()
      } catch (error) {
        done(toRefused(error, log))
      }
    },
    onData(stream, session, done) {
      receiving.add(session.id)
      receiveMessage(stream, session, deps, { limits, memory })
        .then(
          text => done(null, text),
          error => done(error),
        )
        .finally(() => {
          receiving.delete(session.id)
          if (stopping) end(session, '4.3.2 The gateway is stopping')
        })
    },
    onClose(session) {
      stopLoginTimer(session)
      connections.close(session.id)
    },
  })

  function stopLoginTimer({ id }: Session): void {
    clearTimeout(loginTimers.get(id))
    loginTimers.delete(id)
  }

  /** 421 also closes the connection. */
  function end({ id }: Session, text: string): void {
    for (const connection of server.connections) if (connection.session.id === id) connection.send(421, text)
  }

  // Until its TLS handshake is done, a connection has no session that could be counted.
  if (tls?.mode === 'implicit') server.server.maxConnections = limits.connections
  await listen(server, host, port)
  // Clients that disconnect or fail in the TLS handshake; nothing of theirs was promised.
  server.on('error', error => log.debug({ err: error }, 'SMTP connection failed'))
  return {
    port: (server.server.address() as AddressInfo).port,
    stop: () =>
      new Promise(resolve => {
        stopping = true
        server.close(() => resolve())
        for (const { session } of server.connections)
          if (!receiving.has(session.id)) end(session, '4.3.2 The gateway is stopping')
      }),
  }
}

function protocolOptions(tls: SmtpOptions['tls'], limits: SmtpLimits): SMTPServerOptions {
  return {
    ...(tls && { secure: tls.mode === 'implicit', cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' }),
    authMethods: ['PLAIN', 'LOGIN'],
    // onConnect switches AUTH off for clients that it is not safe for.
    allowInsecureAuth: true,
    authRequiredMessage: '5.7.0 AUTH is required, with an API key as the password',
    // Those of smtp-server are one for each reply code; ours are part of the text.
    hideENHANCEDSTATUSCODES: true,
    size: limits.maxBytes,
    maxClients: limits.connections,
    socketTimeout: limits.idleMs,
    closeTimeout: limits.stopWithinMs,
    // A look-up for each client would wait for somebody else's name server.
    disableReverseLookup: true,
    // It would log addresses.
    logger: false,
  }
}

function listen(server: SMTPServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
