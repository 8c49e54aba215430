import { Redis } from 'ioredis'

export type RedisFinding = { setting: string; wanted: string; found: string | null }

/** Seed 002: jobs are never evicted, and at most a second of them is lost. */
const WANTED: [setting: string, wanted: string][] = [
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
  ['maxmemory-policy', 'noeviction'],
]

/** Settings that differ from what they should be; found null: this Redis does not tell (managed ones often refuse CONFIG). */
export async function checkRedisSettings(url: string, timeoutMs = 5_000): Promise<RedisFinding[]> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
  })
  // "Connection is closed" is what connect() says; the reason comes as an event.
  let reason: Error | null = null
  redis.on('error', error => {
    reason = error
  })
  try {
    await redis.connect().catch(error => {
      throw reason ?? error
    })
    const findings: RedisFinding[] = []
    for (const [setting, wanted] of WANTED) {
      const found = await settingOf(redis, setting)
      if (found !== wanted) findings.push({ setting, wanted, found })
    }
    return findings
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

export function sentenceOf({ setting, wanted, found }: RedisFinding): string {
  if (found === null) return `Redis does not tell its ${setting}; make sure that it is ${wanted}`
  return `Redis has ${setting} ${found}, should be ${wanted}: redis-cli CONFIG SET ${setting} ${wanted}, and the same in redis.conf`
}
