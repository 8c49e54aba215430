import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Logger } from 'pino'
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server'
import { LoginLimits, networkOf } from '../../admins/authorize.ts'
import type { KnownKey } from '../../companies/keys.ts'
import type { Draw, TokenRequest } from '../../companies/rate-limit.ts'
import type { KeyCheck } from '../../companies/require-key.ts'
import type { MemberResult } from '../../outbox/draft.ts'
import { type SendBody, sendBodySchema } from '../../outbox/send-body.ts'
import { type AcceptDeps, acceptEmails } from '../../pipeline/accept/accept.ts'
import { callerOf } from '../../pipeline/accept/caller.ts'
import { FairSlots } from '../../platform/semaphores.ts'
import { isSampled } from '../../platform/telemetry/email-log.ts'
import type { RootAttributes, Tracing } from '../../platform/telemetry/tracing.ts'
import { type MailAddress, parseAddress, parseBareAddress } from '../../platform/text/addresses.ts'
import { type FieldProblem, fieldProblems, REPORT_INPUT, summarise } from '../../platform/text/refusal.ts'
import { SEND_LIMITS } from '../../platform/text/send-limits.ts'
import { type Config, ConfigError } from '../../settings/config.ts'
import { CannotListen } from '../../web/cannot-listen.ts'
import { type MessageBody, messageBody } from './message-body.ts'
import { type MessageLimits, type ReadDeps, readMessage } from './read-message.ts'
import { Refused, refusedBy, resultOf, toRefused } from './replies.ts'

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

/** Listens for SMTP when SMTP_INGRESS_PORT is set. */
export async function startSmtp(config: Config, deps: SmtpDeps): Promise<SmtpServer | null> {
  if (config.SMTP_INGRESS_PORT === undefined) return null
  const options = { host: config.HOST, port: config.SMTP_INGRESS_PORT, tls: tlsOf(config) }
  warnWithoutTls(options, deps.log)
  try {
    return await startSmtpServer(options, deps)
  } catch (error) {
    throw new CannotListen('SMTP_INGRESS_PORT', error as Error)
  }
}

function warnWithoutTls({ host, tls }: SmtpOptions, log: Logger): void {
  if (tls || isLoopback(host) || host === 'localhost') return
  log.warn('SMTP has no certificate (SMTP_TLS_CERT, SMTP_TLS_KEY): only programs of this machine can log in')
}

function tlsOf(config: Config): SmtpOptions['tls'] {
  const { SMTP_TLS_CERT, SMTP_TLS_KEY, SMTP_INGRESS_TLS } = config
  if (!SMTP_TLS_CERT || !SMTP_TLS_KEY) return null
  const certificate = readSetting('SMTP_TLS_CERT', SMTP_TLS_CERT)
  const key = readSetting('SMTP_TLS_KEY', SMTP_TLS_KEY)
  try {
    createSecureContext({ cert: certificate, key })
  } catch (error) {
    const reason = (error as Error).message
    throw new ConfigError(`Bad setting. SMTP_TLS_CERT, SMTP_TLS_KEY: are no certificate with its key (${reason}).`)
  }
  return { mode: SMTP_INGRESS_TLS, certificate, key }
}

function readSetting(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`Bad setting. ${name}: ${file} cannot be read (${(error as Error).message}).`)
  }
}

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

export type SmtpDeps = {
  verify: VerifyKey
  tokens: { add(request: TokenRequest): Promise<Draw> }
  accept: AcceptDeps
  onMessage: (outcome: 'accepted' | 'refused') => void
  tracing: Tracing
  /** The share of accepted messages that is logged. */
  logSample?: number
  log: Logger
}

export type Session = SMTPServerSession

/** MAIL FROM: who sends, and whether the company may send one more now. The envelope sender is not used: the header From counts. */
async function startMessage(session: Session, { verify, tokens }: SmtpDeps): Promise<void> {
  const { companyId, ratePerSecond } = await keyOf(session.user, verify)
  if (ratePerSecond === null) return
  const draw = await tokens.add({ companyId, ratePerSecond, amount: 1 })
  if (draw.granted) return
  const text = `This company may send ${ratePerSecond} e-mails a second; try again in ${draw.retryAfterSeconds} s`
  throw new Refused(451, '4.7.1', text)
}

/** RCPT TO. */
function addRecipient({ address }: SMTPServerAddress, { envelope }: Session, limits: SmtpLimits): void {
  if (envelope.rcptTo.length >= limits.recipients)
    throw new Refused(452, '4.5.3', `A message may have at most ${limits.recipients} recipients`)
  const parsed = parseBareAddress(address)
  if (!parsed.ok) throw new Refused(553, '5.1.3', parsed.problem.message)
}

/** DATA: returns the text of the 250, after the commit. */
async function receiveMessage(
  stream: SMTPServerDataStream,
  session: Session,
  deps: SmtpDeps,
  reading: ReadDeps,
): Promise<string> {
  const requestId = randomUUID()
  const span = deps.tracing.begin('SMTP message')
  const startedMs = performance.now()
  const durationMs = () => Math.round((performance.now() - startedMs) * 10) / 10
  const { envelope } = session
  let companyId: string | undefined
  try {
    const key = await keyOf(session.user, deps.verify)
    companyId = key.companyId
    const { outboxId, suppressed } = await readAndAccept(
      stream,
      envelope,
      key,
      { requestId, traceparent: span?.traceparent ?? null },
      deps,
      reading,
    )
    const fields = { requestId, companyId, outboxId, bytes: stream.byteLength, durationMs: durationMs() }
    if (isSampled(requestId, deps.logSample ?? 1)) deps.log.info(fields, 'SMTP message accepted')
    deps.onMessage('accepted')
    span?.end({ requestId, companyId, reply: 250 } satisfies RootAttributes<'SMTP message'>, false)
    const leftOut = suppressed.length > 0 ? `; ${suppressed.length} suppressed left out` : ''
    return `2.0.0 queued as ${outboxId}${leftOut}`
  } catch (error) {
    const refused = toRefused(error, deps.log)
    const [enhancedCode] = refused.message.split(' ')
    const fields = { requestId, companyId, reply: refused.responseCode, enhancedCode, durationMs: durationMs() }
    deps.log.info(fields, 'SMTP message refused')
    deps.onMessage('refused')
    const attributes: RootAttributes<'SMTP message'> = { requestId, companyId, reply: refused.responseCode }
    span?.end(attributes, refused.responseCode < 500)
    throw refused
  }
}

async function readAndAccept(
  stream: SMTPServerDataStream,
  envelope: Session['envelope'],
  key: KnownKey,
  origin: { requestId: string; traceparent: string | null },
  { accept }: SmtpDeps,
  reading: ReadDeps,
) {
  const { message, release } = await readMessage(stream, key.companyId, announcedBytes(envelope), reading)
  try {
    return await acceptMessage(message, recipientsOf(envelope), key, origin, accept)
  } finally {
    release()
  }
}

/** SIZE of MAIL FROM, an estimate of the client. */
function announcedBytes({ mailFrom }: Session['envelope']): number | null {
  const args = mailFrom ? mailFrom.args : false
  const size = args ? Number((args as { SIZE?: string }).SIZE) : Number.NaN
  return Number.isSafeInteger(size) && size > 0 ? size : null
}

/** addRecipient has refused all others. */
function recipientsOf({ rcptTo }: Session['envelope']): MailAddress[] {
  return rcptTo.flatMap(({ address }) => {
    const parsed = parseBareAddress(address)
    return parsed.ok ? [parsed.value] : []
  })
}

/** Once this has answered, the e-mail is committed. */
async function acceptMessage(
  message: Buffer,
  envelope: readonly MailAddress[],
  key: KnownKey,
  origin: { requestId: string; traceparent: string | null },
  accept: AcceptDeps,
): Promise<MemberResult> {
  const { body, idempotencyKey } = messageBody(message, envelope)
  const request = {
    caller: callerOf(key),
    ...origin,
    members: [{ index: 0, body: validated(body) }],
    strict: true,
    // The body, not the message: programs that repeat a message give it a new date and new boundaries.
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, writtenBody: body },
    refusedBefore: new Map(),
  }
  return resultOf(await acceptEmails(request, accept))
}

/** The send body takes one `to`, a message several. */
function validated({ to, ...others }: MessageBody['body']): SendBody {
  const parsed = sendBodySchema.safeParse({ ...others, to: to[0] }, REPORT_INPUT)
  const addresses = to.map(parseAddress)
  const problems = [
    ...(parsed.success ? [] : fieldProblems(parsed.error.issues).filter(({ path }) => path !== 'to')),
    ...addresses.flatMap((one, index) => (one.ok ? [] : [{ path: `to[${index}]`, ...one.problem }])),
    ...tooMany(to),
  ]
  if (!parsed.success || problems.length > 0) throw refusedBy(summarise(problems))
  return { ...parsed.data, to: addresses.flatMap(one => (one.ok ? [one.value] : [])) }
}

function tooMany({ length }: string[]): FieldProblem[] {
  if (length <= SEND_LIMITS.TO) return []
  return [{ path: 'to', code: 'TOO_LARGE', message: `must have at most ${SEND_LIMITS.TO} items, has ${length}` }]
}

/** Open connections by client network. */
class ConnectionCounts {
  readonly #perNetwork: number
  readonly #counts = new Map<string, number>()
  readonly #networks = new Map<string, string>()

  constructor(perNetwork: number) {
    this.#perNetwork = perNetwork
  }

  /** false: this network has too many. */
  open(sessionId: string, remoteAddress: string): boolean {
    const network = networkOf(remoteAddress)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#perNetwork) return false
    this.#counts.set(network, count + 1)
    this.#networks.set(sessionId, network)
    return true
  }

  /** Also called for connections that were refused. */
  close(sessionId: string): void {
    const network = this.#networks.get(sessionId)
    if (network === undefined) return
    this.#networks.delete(sessionId)
    const left = this.#counts.get(network)! - 1
    if (left === 0) this.#counts.delete(network)
    else this.#counts.set(network, left)
  }
}

/** Programs of this machine may log in without TLS: nobody on the network can read it. */
export function isLoopback(address: string): boolean {
  return /^(?:::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === '::1'
}

export type SmtpLimits = MessageLimits & {
  /** Open connections of this process. */
  connections: number
  /** Open connections of one client network. */
  connectionsPerNetwork: number
  /** From the connection to a successful AUTH. */
  loginWithinMs: number
  /** Without a byte from the client. */
  idleMs: number
  /** Recipients of one message. */
  recipients: number
  /** Messages in memory at once: all, and those of one company. */
  memoryBytes: { total: number; perKey: number }
  /** For messages under way when the process stops. */
  stopWithinMs: number
}

export const SMTP_LIMITS: SmtpLimits = {
  connections: 1_000,
  connectionsPerNetwork: 100,
  loginWithinMs: 30_000,
  idleMs: 60_000,
  recipients: SEND_LIMITS.TO + SEND_LIMITS.CC + SEND_LIMITS.BCC,
  maxBytes: 16 * 1024 * 1024,
  countFrom: 64 * 1024,
  maxWaitMs: 10_000,
  arriveWithinMs: 120_000,
  memoryBytes: { total: 64 * 1024 * 1024, perKey: 32 * 1024 * 1024 },
  stopWithinMs: 10_000,
}

/** A client that has logged in. The key is checked again for every message, so that a revoked one ends within a second. */
type SmtpUser = { apiKey: string }

type VerifyKey = (presented: string) => Promise<KeyCheck>

/** AUTH: the API key is the password; the user name is free. */
function loginCheck(verify: VerifyKey) {
  const limits = new LoginLimits()
  return async function logIn(user: string, apiKey: string, remoteAddress: string): Promise<SmtpUser> {
    const check = await verify(apiKey)
    if (check.kind === 'valid') return { apiKey }
    const network = networkOf(remoteAddress)
    const waitMs = limits.waitMs(user, network, performance.now())
    // 421 ends the connection. A valid key is never delayed: others behind the same address may be guessing.
    if (waitMs > 0)
      throw new Refused(421, '4.7.0', `Too many failed logins; try again in ${Math.ceil(waitMs / 1000)} s`)
    limits.failed(user, network, performance.now())
    throw new Refused(535, '5.7.8', reasonOf(check))
  }
}

/** The key of a session that has logged in, as it is now. */
export async function keyOf(user: SmtpUser | undefined, verify: VerifyKey): Promise<KnownKey> {
  if (!user) throw new Refused(530, '5.7.0', 'AUTH is required, with an API key as the password')
  const check = await verify(user.apiKey)
  if (check.kind === 'valid') return check.key
  throw new Refused(421, '4.7.0', reasonOf(check))
}

function reasonOf(check: Exclude<KeyCheck, { kind: 'valid' }>): string {
  switch (check.kind) {
    case 'unknown':
      return 'The API key is missing or unknown: give it as the password'
    case 'revoked':
      return 'The API key has been revoked'
    case 'missing-scope':
      return `This API key has the scopes ${check.scopes.join(', ')}; this needs send`
  }
}
