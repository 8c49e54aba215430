import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { openStorage } from '../../src/console/storage.ts'
import { startGateway } from '../../src/main.ts'
import { makeLog } from '../../src/platform/telemetry/log.ts'
import { makeProviders } from '../../src/providers/providers.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { CannotListen } from '../../src/web/cannot-listen.ts'
import { until } from '../support/gateway.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { startRedis } from '../support/redis-server.ts'

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

test('a gateway whose workers cannot start leaves no port open that would accept mail for them', async () => {
  const database = await createTestDatabase()
  const port = await freePort()
  const config = loadConfig({
    DATABASE_URL: database.url,
    PORT: String(port),
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    HASH_PEPPER: randomBytes(32).toString('hex'),
  })
  const log = makeLog({ level: 'silent', pretty: false })
  const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
  try {
    const starting = startGateway(config, storage, 'all', log, async (...parts) => ({
      ...(await makeProviders(...parts)),
      start: () => Promise.reject(new Error('no such table')),
    }))
    await expect(starting).rejects.toThrow('no such table')
    await expect(fetch(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow()
  } finally {
    await storage.close()
    await database.drop()
  }
})

test('a gateway whose port is taken lets go of Redis, which would keep its process', async () => {
  const database = await createTestDatabase()
  const redis = await startRedis()
  const other = createServer()
  await new Promise<void>(resolve => void other.listen(0, '127.0.0.1', resolve))
  const config = loadConfig({
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    PORT: String((other.address() as { port: number }).port),
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    HASH_PEPPER: randomBytes(32).toString('hex'),
  })
  const log = makeLog({ level: 'silent', pretty: false })
  const storage = await openStorage(config, { use: 'gateway', logInfo: () => {}, onLost: () => {}, log })
  const client = new Redis(redis.url)
  try {
    const connected = async () => ((await client.client('LIST')) as string).trim().split('\n').length
    const before = await connected()
    await expect(startGateway(config, storage, 'all', log)).rejects.toThrow(CannotListen)
    await until(connected, count => count === before, 3_000)
  } finally {
    client.disconnect()
    other.close()
    await storage.close()
    await redis.close()
    await database.drop()
  }
})
