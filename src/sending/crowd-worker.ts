import { isNotConnectionError, type Job, type JobJson, Worker } from 'bullmq'

/** What Redis answers to the end of a job, where another one waits. */
type NextJob = [stored: JobJson | null, jobId?: string] | undefined

/**
 * BullMQ's worker with hands of its own. BullMQ's loop asks for one free hand after the other, and begins with none of the jobs
 * before the last hand is full: whenever the list had been empty for a moment, two hundred hands stood still, for 50 ms
 * at a time. Here its loop (`concurrency` 1) only listens and passes on what it finds, and every hand that finds a job by asking
 * sends two more to ask. From then on a hand gets its next job with the end of its last.
 */
export class CrowdWorker extends Worker {
  #hands = 1
  #busy = 0
  /** BullMQ's loop may come with a job at any time, which needs a hand then. */
  #listening = true
  #asked = 0
  readonly #inFlight = new Set<string>()
  #leaving = false
  #forced = false
  #closed: Promise<void> | null = null
  #whenFree: (() => void) | null = null
  #whenIdle: (() => void) | null = null

  /** Jobs in hand at once. */
  set hands(hands: number) {
    this.#hands = hands
    this.#listenAgain()
  }

  /** BullMQ reads a job's data before anybody can refuse it; what is no JSON would come back for ever. Empty, it is poison. */
  protected override createJob(stored: JobJson, jobId: string): Job {
    try {
      return super.createJob(stored, jobId)
    } catch {
      return super.createJob({ ...stored, data: 'null' }, jobId)
    }
  }

  /** Called by BullMQ's loop, which goes on when a hand is free. Closing, it waits for the loop only. */
  override async processJob(job: Job, token: string): Promise<void> {
    this.#listening = false
    const work = this.#work(job, token)
    if (this.#leaving) return work
    this.#sendToAsk(1)
    await new Promise<void>(resolve => {
      this.#whenFree = resolve
      this.#listenAgain()
    })
  }

  #listenAgain(): void {
    if (!this.#whenFree || this.#busy >= this.#hands) return
    this.#listening = true
    this.#whenFree()
    this.#whenFree = null
  }

  #sendToAsk(hands: number): void {
    for (let sent = 0; sent < hands && this.#taken() < this.#hands && !this.#leaving; sent++)
      void this.#work(null, this.#token())
  }

  #taken(): number {
    return this.#listening ? this.#busy + 1 : this.#busy
  }

  #token(): string {
    return `${this.id}:hand:${this.#asked++}`
  }

  async #work(given: Job | null, token: string): Promise<void> {
    this.#busy++
    try {
      let job: Job | undefined = given ?? (await this.moveToActive(token, this.opts.name))
      if (job && !given) this.#sendToAsk(2)
      while (job && !this.#forced) job = await this.#run(job, token)
    } catch (error) {
      this.emit('error', error as Error)
    }
    this.#busy--
    this.#listenAgain()
    if (this.#busy === 0) this.#whenIdle?.()
  }

  #mayGoOn(): boolean {
    return this.#taken() <= this.#hands && !this.#leaving
  }

  /**
   * Answers the next job. What BullMQ's `processJob` does, less the spans that it puts around every step and the memory of why a
   * job was given up: a sixth of what a job costs this process. One that stalled often is run like any other.
   */
  async #run(job: Job, token: string): Promise<Job | undefined> {
    const jobId = job.id!
    let error: unknown = null
    this.lockManager.trackJob(jobId, token, job.processedOn ?? 0)
    // A job whose lock was lost comes again while it is still in hand: done here, it is not begun a second time.
    if (!this.#inFlight.has(jobId)) {
      this.#inFlight.add(jobId)
      try {
        await this.callProcessJob(job, token)
      } catch (thrown) {
        error = thrown
      }
      this.#inFlight.delete(jobId)
    }
    this.lockManager.untrackJob(jobId)
    while (!this.#forced) {
      try {
        return error === null ? await this.#complete(job, token) : await this.#fail(job, token, error as Error)
      } catch (trouble) {
        if (isNotConnectionError(trouble as Error)) throw trouble
        if (!this.#forced) await this.delay(this.opts.runRetryDelay)
      }
    }
    return
  }

  async #complete(job: Job, token: string): Promise<Job | undefined> {
    const { removeOnComplete } = job.opts
    const { result } = await this.backend.moveToCompleted(job, null, removeOnComplete!, token, this.#mayGoOn())
    this.emit('completed', job, null, 'active')
    return this.#nextOf(result as NextJob, token)
  }

  async #fail(job: Job, token: string, error: Error): Promise<Job | undefined> {
    const result = await job.moveToFailed(error, token, this.#mayGoOn())
    this.emit('failed', job, error, 'active')
    return this.#nextOf(result as NextJob, token)
  }

  #nextOf(next: NextJob, token: string): Job | undefined {
    const [stored, jobId] = next || []
    if (!stored) return
    const job = this.createJob(stored, jobId!)
    job.token = token
    return job
  }

  override close(force = false): Promise<void> {
    this.#leaving = true
    this.#forced ||= force
    if (force) return super.close(true)
    this.#closed ??= this.#closeWhenIdle()
    return this.#closed
  }

  async #closeWhenIdle(): Promise<void> {
    await this.pause(true)
    if (this.#busy > 0) {
      await new Promise<void>(resolve => {
        this.#whenIdle = resolve
      })
    }
    await super.close()
  }
}
