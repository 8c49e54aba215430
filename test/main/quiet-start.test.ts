import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { call, until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { atCleanUp, cleanUp, makeDataDir, spawnGateway } from '../support/process.ts'
import { startRedis } from '../support/redis-server.ts'

afterAll(cleanUp)

const PRELOAD = join(import.meta.dirname, '../support/report-negative-timers.mjs')

describe('a gateway with Redis', () => {
  test('prints JSON lines and nothing else, says what is wrong with Redis itself, and warns of nothing in Node', async () => {
    const redis = await startRedis()
    atCleanUp(() => redis.close())
    await redis.client().config('SET', 'maxmemory-policy', 'allkeys-lru')
    const database = await createTestDatabase()
    atCleanUp(() => database.drop())
    const gateway = await spawnGateway({
      env: {
        PORT: '0',
        DATA_DIR: await makeDataDir(),
        DATABASE_URL: database.url,
        REDIS_URL: redis.url,
        ENCRYPTION_KEY: 'ab'.repeat(32),
        HASH_PEPPER: 'ab'.repeat(32),
        NODE_OPTIONS: `--import=${PRELOAD} --pending-deprecation`,
      },
    })
    await until(
      async () => gateway.output(),
      text => /Redis has maxmemory-policy allkeys-lru/.test(text),
    )
    // Both of BullMQ's connections are there once the feeder has been elected and the worker listens.
    await until(
      () => redis.client().client('LIST') as Promise<string>,
      list => /cmd=bzpopmin/.test(list),
    )
    expect((await call(gateway.url, null, 'GET', '/health/ready')).status).toBe(200)
    gateway.signal('SIGTERM')
    expect(await gateway.exited).toEqual({ code: 0, signal: null })
    expect(gateway.errors()).toBe('')
    for (const line of gateway.output().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('level')
  })
})
