import type { Redis } from 'ioredis'
import { connectRedis, fillQueue, openQueue } from './bullmq.ts'
import { makeSeedEmails, seedJob } from './seed-job.ts'

/** What a backlog of whole payloads adds to Redis' used_memory, where a BullMQ design keeps it. */
export async function seedRedisBytes(redisUrl: string, jobs: number): Promise<number> {
  const redis = connectRedis(redisUrl)
  const queue = openQueue(redis)
  try {
    await queue.waitUntilReady()
    const emails = makeSeedEmails(jobs)
    const before = await usedBytes(redis)
    await fillQueue(queue, jobs, place => seedJob(emails[place]!))
    return (await usedBytes(redis)) - before
  } finally {
    await queue.close()
    await redis.quit()
  }
}

export async function usedBytes(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1])
}
