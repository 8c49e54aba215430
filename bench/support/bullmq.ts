import { randomUUID } from 'node:crypto'
import { type Job, type JobsOptions, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { BULLMQ_QUEUE_NAME, EMAIL_JOB_CONFIG, type SlimJobData } from '../../src/outbox/job.ts'

export const CONCURRENCY = 100
const FILL_CHUNK = 1000

export type BulkJob = { name: string; data: unknown; opts: JobsOptions }

/**
 * What was tried for throughput, on a filled queue of 20 000:
 * - `enableAutoPipelining` of ioredis: three runs of 9 600–10 100 jobs a second beside three of 12 600–16 200 without, since
 *   all commands of a tick wait for each other's answers; left off.
 * - `streams.events.maxLen` of 1000, 100 and 0, eight runs each, two turns: no difference beyond noise (the events are
 *   written either way); left alone.
 * - metrics are off unless asked for. Lock renewal and stalled checks are timers that never fire in a run of seconds: the
 *   worker keeps them, because a worker without them would be no reference.
 */
export function connectRedis(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: null })
}

/** BullMQ leaves a connection that it was given open: whoever made it ends it. */
export function openQueue(connection: Redis): Queue {
  return new Queue(BULLMQ_QUEUE_NAME, { connection })
}

/** Connected and running: what is measured is work, by a worker that has worked before. */
export async function startWorker(url: string, work: (job: Job) => Promise<unknown>): Promise<Worker> {
  const worker = new Worker(BULLMQ_QUEUE_NAME, work, { connection: connectRedis(url), concurrency: CONCURRENCY })
  await worker.waitUntilReady()
  return worker
}

/** Identifiers only, one attempt, nothing kept. */
export function slimJob(outboxId: string): BulkJob {
  const data: SlimJobData = {
    outboxId,
    companyId: COMPANY_ID,
    requestId: REQUEST_ID,
    htmlRef: outboxId,
    attempt: 1,
    enqueuedAt: new Date().toISOString(),
  }
  const opts = { jobId: outboxId, attempts: 1, removeOnComplete: true, removeOnFail: true }
  return { name: EMAIL_JOB_CONFIG.QUEUE_NAME, data, opts }
}

const COMPANY_ID = randomUUID()
const REQUEST_ID = randomUUID()

export async function fillQueue(queue: Queue, jobs: number, jobOf: (place: number) => BulkJob): Promise<void> {
  for (let from = 0; from < jobs; from += FILL_CHUNK) {
    const length = Math.min(FILL_CHUNK, jobs - from)
    await queue.addBulk(Array.from({ length }, (_, place) => jobOf(from + place)))
  }
}

/** Until so many jobs are completed; one that fails ends the measurement. */
export function completed(worker: Worker, jobs: number, onCompleted: () => void = () => {}): Promise<void> {
  let left = jobs
  return new Promise((resolve, reject) => {
    const count = () => {
      left--
      if (left > 0) return onCompleted()
      worker.off('completed', count).off('failed', failed).off('error', reject)
      resolve()
    }
    const failed = (_job: unknown, error: Error) => reject(error)
    worker.on('completed', count).on('failed', failed).on('error', reject)
  })
}

/** Fills a queue that is paused, and measures from its release to the last completed job. Milliseconds. */
export async function drain(queue: Queue, worker: Worker, jobs: number, fill: () => Promise<void>): Promise<number> {
  await queue.pause()
  await fill()
  const done = completed(worker, jobs)
  const startedMs = performance.now()
  await queue.resume()
  await done
  const ms = performance.now() - startedMs
  await assertEmpty(queue)
  return ms
}

/** A queue that is not empty afterwards was not drained by us alone. */
export async function assertEmpty(queue: Queue): Promise<void> {
  const counts = await queue.getJobCounts()
  if (Object.values(counts).some(count => count > 0)) throw new Error(`Jobs are left: ${JSON.stringify(counts)}`)
}
