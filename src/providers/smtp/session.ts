import { Readable } from 'node:stream'
import SMTPConnection, {
  type SMTPConnectionAuth,
  type SMTPConnectionOptions,
  type SMTPConnectionSendInfo,
} from 'nodemailer/lib/smtp-connection'
import { orAborted } from '../answers.ts'

export type SmtpSettings = SMTPConnectionOptions & { auth?: SMTPConnectionAuth }
type SmtpEnvelope = { from: string; to: string[]; size: number }
/** The used fields of nodemailer's errors. `response` and `responseCode` are the server's reply. */
export type SmtpError = Error & { code?: string; originalCode?: string; response?: string; responseCode?: number }
/**
 * How far a message got. Without a slot the server was not called. `opening`: connection, greeting, TLS or login, which are not
 * about this message. From the final dot on the server may have accepted it.
 */
export type SmtpProgress = { hasSlot: boolean; opening: boolean; bodyBegun: boolean; dotSent: boolean }

type Done<T> = (error: Error | null | undefined, value?: T) => void

const MAX_MESSAGES = 100
const SLICE_BYTES = 16 * 1024
const QUIT_TIMEOUT_MS = 1_000
const SERVICE_CLOSING = 421

/** One connection to the server, logged in, for one message after another. */
export class SmtpSession {
  readonly #connection: SMTPConnection
  #messages = 0
  #over = false
  #refused = false
  #lastError: Error | undefined

  private constructor(settings: SmtpSettings) {
    this.#connection = new SMTPConnection({ ...settings, logger: false, debug: false, transactionLog: false })
    this.#connection.on('error', error => {
      this.#lastError = error
    })
    this.#connection.once('end', () => {
      this.#over = true
    })
  }

  static async open(settings: SmtpSettings, signal: AbortSignal): Promise<SmtpSession> {
    const session = new SmtpSession(settings)
    try {
      await orAborted(session.#greet(settings), signal)
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  get reused(): boolean {
    return this.#messages > 0
  }

  get usable(): boolean {
    return !this.#over && this.#messages < MAX_MESSAGES
  }

  /** Rejects with the server's refusal or with the error that ended the connection; `progress` shows how far it got. */
  async send(envelope: SmtpEnvelope, mime: Buffer, progress: SmtpProgress): Promise<SMTPConnectionSendInfo> {
    if (this.#refused) await this.#reset()
    this.#messages++
    const body = Readable.from(slices(mime, progress), { objectMode: false })
    // nodemailer reads the slices as fast as the socket takes them, and writes the final dot after the last one.
    body.once('end', () => {
      progress.dotSent = true
    })
    try {
      const info = await this.#reply<SMTPConnectionSendInfo>(done => this.#connection.send({ ...envelope }, body, done))
      // A second reply to DATA, which nodemailer takes for the answer to the message.
      if (!progress.dotSent) throw connectionClosed('The server took a message that it has not got yet')
      return info
    } catch (error) {
      if (isSessionUsableAfter(error as SmtpError, progress)) this.#refused = true
      else this.close()
      throw error
    }
  }

  close(): void {
    this.#connection.close()
    // close() only ends the socket gracefully; nodemailer has no public way to destroy it (public-apis.test.ts knows of this).
    if (this.#connection._socket) this.#connection._socket.destroy()
  }

  async quit(): Promise<void> {
    const ended = new Promise<void>(resolve => this.#connection.once('end', resolve))
    const timer = setTimeout(() => this.close(), QUIT_TIMEOUT_MS)
    if (!this.#over) this.#connection.quit()
    if (!this.#over) await ended
    clearTimeout(timer)
    this.close()
  }

  async #greet({ auth }: SmtpSettings): Promise<void> {
    await this.#reply<void>(done => this.#connection.connect(done))
    if (auth && this.#connection.allowsAuth) await this.#reply(done => this.#connection.login(auth, done))
  }

  /** Called before the next message instead of after a refused one, so that the result of that one need not wait. */
  async #reset(): Promise<void> {
    try {
      await this.#reply(done => this.#connection.reset(done))
      this.#refused = false
    } catch {
      this.close()
      throw connectionClosed()
    }
  }

  /** nodemailer does not call back after the connection was closed, so its end rejects too. */
  #reply<T>(ask: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      // The callback may follow a moment after the end, with a more precise error.
      const onEnd = () => setImmediate(() => reject(this.#lastError ?? connectionClosed()))
      this.#connection.once('end', onEnd)
      ask((error, value) => {
        this.#connection.off('end', onEnd)
        if (error) reject(error)
        else resolve(value as T)
      })
    })
  }
}

const connectionClosed = (why = 'Connection closed') => Object.assign(new Error(why), { code: 'ECONNECTION' })

/** The server replied, and not in the middle of the body. */
function isSessionUsableAfter({ responseCode }: SmtpError, { bodyBegun, dotSent }: SmtpProgress): boolean {
  return responseCode !== undefined && responseCode !== SERVICE_CLOSING && bodyBegun === dotSent
}

function* slices(mime: Buffer, progress: SmtpProgress): Generator<Buffer> {
  progress.bodyBegun = true
  for (let at = 0; at < mime.length; at += SLICE_BYTES) yield mime.subarray(at, at + SLICE_BYTES)
}

/** Shorter than the idle timeout of servers, which is a few minutes at most. */
const IDLE_MS = 30_000

/** nodemailer's own pool cannot abort a single message, and resends messages of lost connections by itself. */
export class SmtpPool {
  readonly #settings: SmtpSettings
  readonly #idle = new Map<SmtpSession, NodeJS.Timeout>()
  readonly #busy = new Set<SmtpSession>()
  readonly #waiting: (() => void)[] = []
  #free: number
  #closed = false

  constructor(settings: SmtpSettings, maxConnections: number) {
    this.#settings = settings
    this.#free = maxConnections
  }

  /** Runs the work on a session that no other work uses meanwhile. An aborted signal closes the session. */
  async use<T>(work: (session: SmtpSession) => Promise<T>, progress: SmtpProgress, signal: AbortSignal): Promise<T> {
    await this.#takeSlot(signal)
    progress.hasSlot = true
    try {
      if (this.#closed) throw Object.assign(new Error('The provider is closed'), { code: 'ECONNECTION' })
      const idle = this.#takeIdle()
      if (!idle) return await this.#run(await this.#open(progress, signal), work, signal)
      try {
        return await this.#run(idle, work, signal)
      } catch (error) {
        if (progress.bodyBegun || signal.aborted || !isConnectionClosed(error as SmtpError)) throw error
      }
      // The server had closed the idle session before it saw the message: try once more on a new session.
      return await this.#run(await this.#open(progress, signal), work, signal)
    } finally {
      this.#releaseSlot()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const session of this.#busy) session.close()
    const idle = [...this.#idle.keys()]
    await Promise.all(idle.map(session => this.#quitIdle(session)))
  }

  async #open(progress: SmtpProgress, signal: AbortSignal): Promise<SmtpSession> {
    progress.opening = true
    const session = await SmtpSession.open(this.#settings, signal)
    progress.opening = false
    return session
  }

  async #run<T>(session: SmtpSession, work: (session: SmtpSession) => Promise<T>, signal: AbortSignal): Promise<T> {
    this.#busy.add(session)
    try {
      return await orAborted(work(session), signal)
    } finally {
      this.#busy.delete(session)
      if (signal.aborted || this.#closed) session.close()
      else if (session.usable) this.#keep(session)
      else void session.quit()
    }
  }

  #keep(session: SmtpSession): void {
    const timer = setTimeout(() => void this.#quitIdle(session), IDLE_MS)
    timer.unref()
    this.#idle.set(session, timer)
  }

  #takeIdle(): SmtpSession | undefined {
    for (const [session, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(session)
      if (session.usable) return session
    }
    return undefined
  }

  async #quitIdle(session: SmtpSession): Promise<void> {
    clearTimeout(this.#idle.get(session))
    this.#idle.delete(session)
    await session.quit()
  }

  async #takeSlot(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    let grant = () => {}
    const granted = new Promise<void>(resolve => {
      grant = resolve
    })
    this.#waiting.push(grant)
    try {
      await orAborted(granted, signal)
    } catch (error) {
      const index = this.#waiting.indexOf(grant)
      // Not in the queue: the slot was granted at the moment of the abort.
      if (index === -1) this.#releaseSlot()
      else this.#waiting.splice(index, 1)
      throw error
    }
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}

function isConnectionClosed({ responseCode }: SmtpError): boolean {
  return responseCode === undefined || responseCode === SERVICE_CLOSING
}
