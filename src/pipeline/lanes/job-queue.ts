import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { BULLMQ_QUEUE_NAME } from '../../outbox/job.ts'
import { SKIP_VERSION_CHECK } from '../../platform/redis.ts'
import type { FedQueue } from './feeder.ts'

/** How long the first use waits for Redis at a time; a stop waits for it, too. */
const READY_MS = 2_000

export type JobQueue = FedQueue & UnreadableJobsOptions['queue'] & { close(): Promise<void> }

/** Opened at its first use: a BullMQ queue whose first command failed stays broken, so that one is closed and another one made. */
export function jobQueue(redis: Redis, log: Logger): JobQueue {
  let opening: Promise<Queue> | null = null

  /** Whoever asks while it is being opened gets the same queue: a second one would never be closed. */
  function ready(): Promise<Queue> {
    opening ??= openQueue(redis, log).catch(error => {
      opening = null
      throw error
    })
    return opening
  }

  return {
    addBulk: async jobs => (await ready()).addBulk(jobs),
    getRanges: async (...range) => (await ready()).getRanges(...range),
    getJob: async jobId => (await ready()).getJob(jobId),
    remove: async jobId => (await ready()).remove(jobId),
    async close() {
      const queue = await opening?.catch(() => null)
      await queue?.close()
    },
  }
}

async function openQueue(redis: Redis, log: Logger): Promise<Queue> {
  // A Redis that is loading its data says nothing until it has done so.
  if (redis.status === 'connecting' || redis.status === 'connect')
    await once(redis, 'ready', { signal: AbortSignal.timeout(READY_MS) })
  const queue = new Queue(BULLMQ_QUEUE_NAME, { connection: redis, skipWaitingForReady: true, ...SKIP_VERSION_CHECK })
  queue.on('error', error => log.debug({ err: error }, 'The queue is out of reach'))
  try {
    await queue.waitUntilReady()
    return queue
  } catch (error) {
    await queue.close().catch(() => {})
    throw error
  }
}

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
