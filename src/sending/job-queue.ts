import { once } from 'node:events'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { BULLMQ_QUEUE_NAME } from '../contracts/job.ts'
import type { FedQueue } from './feeder.ts'
import { SKIP_VERSION_CHECK } from './redis-settings.ts'
import type { UnreadableJobsOptions } from './unreadable-jobs.ts'

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
