import { randomUUID } from 'node:crypto'
import { connectRedis, drain, fillQueue, openQueue, slimJob, startWorker } from '../support/bullmq.ts'
import { answer, orders } from '../support/reference.ts'

/**
 * Reference: BullMQ alone. A filled queue, a worker that does nothing, in a process of its own.
 * Where the time goes: 55–70 µs of CPU per job here, 75–90 in Redis with the filling, so both keep a core busy. Here it is
 * ioredis building and parsing commands, BullMQ's job objects, garbage collection and socket writes, in that order.
 */
const { redisUrl, jobs, warmUpJobs } = orders()
const queue = openQueue(connectRedis(redisUrl))

const worker = await startWorker(redisUrl, async () => {})
const measure = (count: number) =>
  drain(queue, worker, count, () => fillQueue(queue, count, () => slimJob(randomUUID())))

await measure(warmUpJobs)
answer({ jobs, ms: await measure(jobs) })
process.exit(0)
