import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue } from 'bullmq'

export type UnreadableJobsOptions = {
  queue: Pick<Queue, 'getRanges' | 'getJob' | 'remove'>
  dropped: (jobId: string) => void
  checkEveryMs: number
}

/**
 * Removes jobs that are not JSON. BullMQ's worker reads a job before we see it, reports a SyntaxError without the id of the job, and
 * leaves the job active until its lock expires; then it would come again, for ever. BullMQ does not remove a locked job, so this
 * tries until the lock is gone.
 */
export class UnreadableJobs {
  readonly #options: UnreadableJobsOptions
  #removing: Promise<void> | null = null
  #stopped = false

  constructor(options: UnreadableJobsOptions) {
    this.#options = options
  }

  /** The worker came upon one. */
  found(): void {
    this.#removing ??= this.#removeAll().finally(() => {
      this.#removing = null
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#removing
  }

  async #removeAll(): Promise<void> {
    while (!this.#stopped) {
      // Redis may be away; the job is still there when it is back.
      const left = await this.#remove().catch(() => 1)
      if (left === 0) return
      await sleep(this.#options.checkEveryMs)
    }
  }

  /** Answers how many are left. */
  async #remove(): Promise<number> {
    const { queue, dropped } = this.#options
    const unreadable: string[] = []
    for (const jobId of await queue.getRanges(['wait', 'active'], 0, -1))
      if (!(await this.#isReadable(jobId))) unreadable.push(jobId)
    let left = unreadable.length
    for (const jobId of unreadable) {
      if ((await queue.remove(jobId)) !== 1) continue
      dropped(jobId)
      left--
    }
    return left
  }

  async #isReadable(jobId: string): Promise<boolean> {
    try {
      await this.#options.queue.getJob(jobId)
      return true
    } catch (error) {
      if (error instanceof SyntaxError) return false
      throw error
    }
  }
}
