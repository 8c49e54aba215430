import { startPostgres } from './support/databases.ts'
import { startRedis } from './support/processes.ts'
import { seedRedisBytes } from './support/redis-bytes.ts'
import { runReference } from './support/reference.ts'
import { writeResults } from './support/results.ts'

const EMAILS = 250_000
const MB = 1_000_000

/** How much Redis a waiting backlog takes: ours keeps it in Postgres, the seeds in Redis. */
export async function benchRedisBytes(): Promise<void> {
  const postgres = await startPostgres()
  const redis = await startRedis()
  const seedRedis = await startRedis()
  try {
    const { waiting, drained } = (await runReference('backlog-ours.js', {
      ENCRYPTION_KEY: 'ab'.repeat(32),
      HASH_PEPPER: 'pepper '.repeat(8),
      DATABASE_URL: await postgres.fresh(),
      REDIS_URL: redis.url,
      WORKER_CONCURRENCY: '100',
      LOG_LEVEL: 'warn',
      JOBS: String(EMAILS),
    })) as unknown as { waiting: number; drained: number }
    const seed = await seedRedisBytes(seedRedis.url, EMAILS)
    const show = (bytes: number) => `${(bytes / MB).toFixed(2)} MB`
    writeResults('redis-bytes', [
      `${EMAILS} e-mails waiting behind a provider that never answers, the window full (concurrency 100); used_memory of Redis above the same lane with nothing waiting.`,
      '',
      '| figure | target | measured |',
      '|---|---|---|',
      `| ours, above the same lane drained | ≤ 1 MB | ${show(waiting - drained)} |`,
      `| the same backlog as whole jobs in BullMQ | about 450 MB | ${show(seed)} |`,
    ])
  } finally {
    await redis.stop()
    await seedRedis.stop()
    await postgres.close()
  }
}
