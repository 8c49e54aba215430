import { type Job, type JobJson, Worker } from 'bullmq'

/**
 * BullMQ's worker with hands of its own. BullMQ's loop asks for one free hand after the other, and begins with none of the jobs
 * before the last hand is full: whenever the list had been empty for a moment, two hundred hands stood still, for 50 ms
 * at a time. Here its loop (`concurrency` 1) only listens and passes on what it finds, and every hand that finds a job by asking
 * sends two more to ask. From then on a hand gets its next job with the end of its last.
 */
export class CrowdWorker extends Worker {
  #hands = 1
  #busy = 0
  #asked = 0
  #leaving = false
  #whenFree: (() => void) | null = null
  #whenIdle: (() => void) | null = null

  /** Jobs in hand at once. */
  set hands(hands: number) {
    this.#hands = hands
    if (this.#busy < hands) this.#whenFree?.()
  }

  /** BullMQ reads a job's data before anybody can refuse it; what is no JSON would come back for ever. Empty, it is poison. */
  protected override createJob(stored: JobJson, jobId: string): Job {
    try {
      return super.createJob(stored, jobId)
    } catch {
      return super.createJob({ ...stored, data: 'null' }, jobId)
    }
  }

  /** Called by BullMQ's loop, which goes on when a hand is free. */
  override async processJob(job: Job, token: string): Promise<void> {
    void this.#work(job, token)
    this.#sendToAsk(1)
    if (this.#busy < this.#hands) return
    await new Promise<void>(resolve => {
      this.#whenFree = resolve
    })
  }

  #sendToAsk(hands: number): void {
    for (let sent = 0; sent < hands && this.#busy < this.#hands && !this.#leaving; sent++)
      void this.#work(null, this.#token())
  }

  #token(): string {
    return `${this.id}:hand:${this.#asked++}`
  }

  async #work(given: Job | null, token: string): Promise<void> {
    this.#busy++
    try {
      let job: Job | undefined = given ?? (await this.moveToActive(token, this.opts.name))
      if (job && !given) this.#sendToAsk(2)
      while (job) job = (await super.processJob(job, token, () => this.#mayGoOn())) ?? undefined
    } catch (error) {
      this.emit('error', error as Error)
    }
    this.#busy--
    if (this.#busy < this.#hands) this.#whenFree?.()
    if (this.#busy === 0) this.#whenIdle?.()
  }

  #mayGoOn(): boolean {
    return this.#busy <= this.#hands && !this.#leaving
  }

  /** BullMQ waits for its loop only. */
  override async close(force = false): Promise<void> {
    this.#leaving = true
    if (!force) {
      await this.pause(true)
      await this.#allIdle()
    }
    await super.close(force)
    if (!force) await this.#allIdle()
  }

  async #allIdle(): Promise<void> {
    if (this.#busy === 0) return
    await new Promise<void>(resolve => {
      this.#whenIdle = resolve
    })
  }
}
