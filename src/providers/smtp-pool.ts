import { SERVICE_CLOSING, type SmtpError, type SmtpProgress, SmtpSession, type SmtpSettings } from './smtp-session.ts'
import { orAborted } from './thrown.ts'

/** Servers end idle sessions after a few minutes at the latest; ours go first. */
const IDLE_MS = 30_000

/** nodemailer's own pool cannot give up one message, and sends again by itself what a lost connection left open. */
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

  /** Runs the work on a session of its own, which ends with the signal. */
  async use<T>(work: (session: SmtpSession) => Promise<T>, progress: SmtpProgress, signal: AbortSignal): Promise<T> {
    await this.#takeSlot(signal)
    progress.hasSlot = true
    try {
      if (this.#closed) throw Object.assign(new Error('The provider is closed'), { code: 'ECONNECTION' })
      const kept = this.#takeIdle()
      if (!kept) return await this.#run(await this.#open(progress, signal), work, signal)
      try {
        return await this.#run(kept, work, signal)
      } catch (error) {
        if (progress.bodyBegun || signal.aborted || !isHangUp(error as SmtpError)) throw error
      }
      // The server had hung up on an idle session: nobody has seen the message, and nobody has refused it.
      return await this.#run(await this.#open(progress, signal), work, signal)
    } finally {
      this.#giveSlot()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const session of this.#busy) session.close()
    const idle = [...this.#idle.keys()]
    await Promise.all(idle.map(session => this.#dismiss(session)))
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
    const timer = setTimeout(() => void this.#dismiss(session), IDLE_MS)
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

  async #dismiss(session: SmtpSession): Promise<void> {
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
    let turn = () => {}
    const myTurn = new Promise<void>(resolve => {
      turn = resolve
    })
    this.#waiting.push(turn)
    try {
      await orAborted(myTurn, signal)
    } catch (error) {
      const place = this.#waiting.indexOf(turn)
      // Handed the slot in the very moment of giving up.
      if (place === -1) this.#giveSlot()
      else this.#waiting.splice(place, 1)
      throw error
    }
  }

  #giveSlot(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free++
  }
}

function isHangUp({ responseCode }: SmtpError): boolean {
  return responseCode === undefined || responseCode === SERVICE_CLOSING
}
