import type { InUse } from '../../settings/processes.ts'
import { recordedSettings } from '../../settings/recorded.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Check } from './command.ts'

const SHARE = { warning: 0.8, failed: 0.9 }
/** maxBytes 0: no limit. */
export type RedisMemory = { usedBytes: number; maxBytes: number }

const MEGABYTE = 1024 * 1024

/** Needs the password of Redis, which is not recorded, so REDIS_URL must be set in this shell. */
export async function redisChecks({ settings }: Pick<InUse, 'settings'>, config: Settings): Promise<Check[]> {
  const name = 'redis'
  if (!config.REDIS_URL) {
    if (!settings.REDIS_URL) return []
    return [
      { name, state: 'warning', detail: `${settings.REDIS_URL} is not checked: REDIS_URL is not set in this shell` },
    ]
  }
  const own = recordedSettings(config).REDIS_URL
  if (own !== settings.REDIS_URL) {
    const used = settings.REDIS_URL ? `it uses ${settings.REDIS_URL}` : 'it uses none'
    return [
      { name, state: 'warning', detail: `not checked: this shell's REDIS_URL is not that of the gateway; ${used}` },
    ]
  }
  // Imported here, so that other commands do not load the Redis client.
  const { checkRedisSettings, sentenceOf } = await import('../../platform/redis.ts')
  try {
    const findings = await checkRedisSettings(config.REDIS_URL)
    const settled: Check[] =
      findings.length === 0
        ? [{ name, state: 'ok', detail: 'AOF every second, noeviction' }]
        : findings.map(finding => ({ name, state: 'warning', detail: sentenceOf(finding) }))
    return [...settled, ...memoryOf(await readMemory(config.REDIS_URL))]
  } catch (error) {
    return [{ name, state: 'failed', detail: redisProblem((error as Error).message) }]
  }
}

function redisProblem(message: string): string {
  if (/NOAUTH|WRONGPASS/.test(message))
    return `the Redis of REDIS_URL refuses the login (${message}); put user and password into it: redis://USER:PASSWORD@HOST:6379`
  return `REDIS_URL cannot be reached: ${message}`
}

async function readMemory(url: string): Promise<RedisMemory | null> {
  const { redisFigures } = await import('../../figures/redis.ts')
  const { read, close } = redisFigures(url)
  try {
    const figures = await read()
    return figures.up ? figures : null
  } finally {
    close()
  }
}

/** With noeviction, a full Redis refuses jobs; the mail waits in Postgres. */
export function memoryOf(memory: RedisMemory | null): Check[] {
  const name = 'redis'
  if (!memory) return []
  const { usedBytes, maxBytes } = memory
  const used = `${Math.ceil(usedBytes / MEGABYTE)} MB`
  if (maxBytes === 0)
    return [
      {
        name,
        state: 'warning',
        detail: `maxmemory is not set, ${used} in use: the machine may run out of memory first; redis-cli -u $REDIS_URL CONFIG SET maxmemory 512mb, and the same in redis.conf`,
      },
    ]
  const share = usedBytes / maxBytes
  const detail = `${used} of maxmemory ${Math.floor(maxBytes / MEGABYTE)} MB in use`
  if (share < SHARE.warning) return [{ name, state: 'ok', detail }]
  const mend = `${detail}: raise it with redis-cli -u $REDIS_URL CONFIG SET maxmemory, and the same in redis.conf`
  return [{ name, state: share < SHARE.failed ? 'warning' : 'failed', detail: mend }]
}
