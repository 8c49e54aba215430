import type { QueueCounts } from '../contracts/admin/overview.ts'
import type { ChangedEmail, Changes } from '../db/admin/changed-emails.ts'

export type LiveSource = {
  readQueue: () => Promise<QueueCounts>
  /** since null: from now on. */
  readChanges: (since: string | null, limit: number) => Promise<Changes>
}

/** A stream of a person. `send` answers whether it can take more; one that cannot keep up is ended. */
export type Listener = {
  person: string
  send: (text: string) => boolean
  end: () => void
  isAllowed: () => Promise<boolean>
}

export const LIVE_LIMITS = {
  listeners: 200,
  perPerson: 20,
  tickMs: 2_000,
  /** How soon the stream of a session that was ended is. The session itself is read once a second at most. */
  checkMs: 2_000,
  /** How often a stream says that it is alive, also while the database does not answer. The page waits eight seconds for it. */
  aliveMs: 3_000,
  emails: 50,
  /** Answered e-mails and their status, so that the overlap of two questions repeats none. */
  known: 5_000,
}

/** An event and no comment, so that the page sees it: a process that hangs keeps its connections. */
export const ALIVE = frame('alive', {})

type LiveLimits = typeof LIVE_LIMITS

/** Reads what has changed once for everybody who listens, every two seconds, and only while somebody does. */
export class LiveFeed {
  readonly #source: LiveSource
  readonly #limits: LiveLimits
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<Listener>()
  #tick: NodeJS.Timeout | undefined
  #check: NodeJS.Timeout | undefined
  #alive: NodeJS.Timeout | undefined
  #since: string | null = null
  #known = new Map<string, string>()
  #lastCounts = ''
  #reading = false
  #checking = false

  constructor(source: LiveSource, onError: (error: unknown) => void, limits: LiveLimits = LIVE_LIMITS) {
    this.#source = source
    this.#onError = onError
    this.#limits = limits
  }

  isFullFor(person: string): boolean {
    const own = [...this.#listeners].filter(listener => listener.person === person).length
    return this.#listeners.size >= this.#limits.listeners || own >= this.#limits.perPerson
  }

  get size(): number {
    return this.#listeners.size
  }

  /** Returns a function that ends it. */
  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (this.#lastCounts) this.#sendTo(listener, this.#lastCounts)
    if (!this.#tick) this.#start()
    return () => this.#remove(listener)
  }

  /** Ends every stream: a process that stops does not wait for browsers. */
  close(): void {
    for (const listener of [...this.#listeners]) {
      this.#remove(listener)
      listener.end()
    }
  }

  #start(): void {
    const { tickMs, checkMs, aliveMs } = this.#limits
    this.#since = null
    this.#tick = setInterval(() => void this.#readAndSend(), tickMs)
    this.#check = setInterval(() => void this.#checkListeners(), checkMs)
    this.#alive = setInterval(() => this.#send(ALIVE), aliveMs)
    for (const timer of [this.#tick, this.#check, this.#alive]) timer.unref()
    void this.#readAndSend()
  }

  #remove(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    for (const timer of [this.#tick, this.#check, this.#alive]) clearInterval(timer)
    this.#tick = undefined
    this.#lastCounts = ''
    this.#known.clear()
  }

  async #readAndSend(): Promise<void> {
    // On a slow database, copies of the same statement would make it slower still.
    if (this.#reading) return
    this.#reading = true
    try {
      const [counts, changes] = await Promise.all([
        this.#source.readQueue(),
        this.#source.readChanges(this.#since, this.#limits.emails),
      ])
      const isFirst = this.#since === null
      this.#since = changes.until
      this.#lastCounts = frame('counts', counts)
      this.#send(this.#lastCounts)
      const fresh = changes.emails.filter(email => this.#isFresh(email))
      // What happened before anybody listened is on the page already.
      if (!isFirst && (fresh.length > 0 || changes.more))
        this.#send(frame('emails', { emails: fresh, more: changes.more }))
    } catch (error) {
      this.#onError(error)
      // The page says since when its figures are old.
      this.#send(frame('unavailable', {}))
    } finally {
      this.#reading = false
    }
  }

  #isFresh({ outboxId, status }: ChangedEmail): boolean {
    const isKnown = this.#known.get(outboxId) === status
    this.#known.delete(outboxId)
    this.#known.set(outboxId, status)
    if (this.#known.size > this.#limits.known) this.#known.delete(this.#known.keys().next().value!)
    return !isKnown
  }

  async #checkListeners(): Promise<void> {
    // As above: one check at a time.
    if (this.#checking) return
    this.#checking = true
    await Promise.all(
      [...this.#listeners].map(async listener => {
        // A database that does not answer ends nobody's session.
        const isAllowed = await listener.isAllowed().catch(() => true)
        if (isAllowed) return
        this.#remove(listener)
        listener.end()
      }),
    )
    this.#checking = false
  }

  #send(text: string): void {
    for (const listener of [...this.#listeners]) this.#sendTo(listener, text)
  }

  #sendTo(listener: Listener, text: string): void {
    if (listener.send(text)) return
    this.#remove(listener)
    listener.end()
  }
}

function frame(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
