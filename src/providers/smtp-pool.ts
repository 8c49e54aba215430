import { SERVICE_CLOSING, type SmtpError, type SmtpProgress, SmtpSession, type SmtpSettings } from './smtp-session.ts'
import { orAborted } from './thrown.ts'

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
