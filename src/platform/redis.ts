import { Redis } from 'ioredis'

export type RedisFinding = { setting: string; wanted: string; found: string | null }

/** Jobs are never evicted, and at most a second of them is lost. */
const WANTED: [setting: string, wanted: string][] = [
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
  ['maxmemory-policy', 'noeviction'],
]

/** The version that BullMQ recommends. */
const OLDEST = '6.2.0'

/** BullMQ would check the version at each connection, and write what it finds to the console. It is checked and logged here, once. */
export const SKIP_VERSION_CHECK = { skipVersionCheck: true } as const

/** maxBytes 0: no limit. */
type RedisMemory = { usedBytes: number; maxBytes: number }

/** Settings that differ from what they should be; found null: unknown, because managed Redis services often refuse CONFIG. */
export async function checkRedisSettings(url: string, timeoutMs = 5_000): Promise<RedisFinding[]> {
  return (await checkRedis(url, timeoutMs)).findings
}

/** memory null: unknown. */
async function checkRedis(
  url: string,
  timeoutMs = 5_000,
): Promise<{ findings: RedisFinding[]; memory: RedisMemory | null }> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
  })
  // connect() rejects with "Connection is closed"; the reason comes as an event.
  let reason: Error | null = null
  redis.on('error', error => {
    reason = error
  })
  try {
    await redis.connect().catch(error => {
      throw reason ?? error
    })
    const findings: RedisFinding[] = []
    const version = await versionOf(redis)
    if (version !== null && isOlder(version, OLDEST))
      findings.push({ setting: 'version', wanted: OLDEST, found: version })
    for (const [setting, wanted] of WANTED) {
      const found = await settingOf(redis, setting)
      if (found !== wanted) findings.push({ setting, wanted, found })
    }
    return { findings, memory: await memoryOf(redis) }
  } finally {
    redis.disconnect()
  }
}

async function settingOf(redis: Redis, setting: string): Promise<string | null> {
  try {
    const [, value] = (await redis.config('GET', setting)) as string[]
    return value ?? null
  } catch {
    return null
  }
}

async function versionOf(redis: Redis): Promise<string | null> {
  const info = await redis.info('server').catch(() => '')
  return /^redis_version:(\d+(?:\.\d+)*)/m.exec(info)?.[1] ?? null
}

async function memoryOf(redis: Redis): Promise<RedisMemory | null> {
  const info = await redis.info('memory').catch(() => '')
  const [used, max] = ['used_memory', 'maxmemory'].map(name => new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
  return used === undefined || max === undefined ? null : { usedBytes: Number(used), maxBytes: Number(max) }
}

export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0
}

export function sentenceOf({ setting, wanted, found }: RedisFinding): string {
  if (setting === 'version') return `Redis is version ${found}, should be ${wanted} or newer`
  if (found === null) return `Redis does not answer CONFIG GET ${setting}; make sure that it is ${wanted}`
  return `Redis has ${setting} ${found}, should be ${wanted}: redis-cli -u $REDIS_URL CONFIG SET ${setting} ${wanted}, and the same in redis.conf`
}
