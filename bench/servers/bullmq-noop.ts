import { randomUUID } from 'node:crypto'
import { assertEmpty, connectRedis, drain, fillQueue, makeWorker, openQueue, slimJob } from '../support/bullmq.ts'
import { answer, orders } from '../support/reference.ts'

/**
 * Reference: BullMQ alone. A filled queue, a worker that does nothing, in a process of its own.
 * Where the time goes: 55–70 µs of CPU per job here, 75–90 in Redis with the filling, so both keep a core busy. Here it is
 * ioredis building and parsing commands, BullMQ's job objects, garbage collection and socket writes, in that order.
 */
const { redisUrl, jobs, warmUpJobs } = orders()
const queue = openQueue(connectRedis(redisUrl))

async function measure(count: number): Promise<number> {
  await fillQueue(queue, count, () => slimJob(randomUUID()))
  const worker = await makeWorker(redisUrl, async () => {})
  const ms = await drain(worker, count)
  await worker.close()
  await assertEmpty(queue)
  return ms
}

await measure(warmUpJobs)
answer({ jobs, ms: await measure(jobs) })
process.exit(0)
