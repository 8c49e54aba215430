import type { InUse } from '../../settings/processes.ts'
import { recordedSettings } from '../../settings/recorded.ts'
import type { Settings } from '../../settings/settings.ts'
import { failed, ok, type Verdict, warning } from './verdict.ts'

const SHARE = { warning: 0.8, failed: 0.9 }
/** maxBytes 0: no limit. */
export type RedisMemory = { usedBytes: number; maxBytes: number }

const MEGABYTE = 1024 * 1024

/** Needs the password of Redis, which is not recorded, so REDIS_URL must be set in this shell. */
export async function checkRedis({ settings }: Pick<InUse, 'settings'>, config: Settings): Promise<Verdict[]> {
  if (!config.REDIS_URL)
    return settings.REDIS_URL
      ? [warning(`${settings.REDIS_URL} is not checked: REDIS_URL is not set in this shell`)]
      : []
  if (recordedSettings(config).REDIS_URL !== settings.REDIS_URL) {
    const used = settings.REDIS_URL ? `it uses ${settings.REDIS_URL}` : 'it uses none'
    return [warning(`not checked: this shell's REDIS_URL is not that of the gateway; ${used}`)]
  }
  // Imported here, so that other commands do not load the Redis client.
  const { checkRedisSettings, sentenceOf } = await import('../../platform/redis.ts')
  try {
    const findings = await checkRedisSettings(config.REDIS_URL)
    const settled =
      findings.length === 0
        ? [ok('AOF every second, noeviction')]
        : findings.map(finding => warning(sentenceOf(finding)))
    return [...settled, ...checkMemory(await readMemory(config.REDIS_URL))]
  } catch (error) {
    const { message } = error as Error
    if (!/NOAUTH|WRONGPASS/.test(message)) return [failed(`REDIS_URL cannot be reached: ${message}`)]
    return [
      failed(
        `the Redis of REDIS_URL refuses the login (${message}); put user and password into it: redis://USER:PASSWORD@HOST:6379`,
      ),
    ]
  }
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
export function checkMemory(memory: RedisMemory | null): Verdict[] {
  if (!memory) return []
  const { usedBytes, maxBytes } = memory
  const used = `${Math.ceil(usedBytes / MEGABYTE)} MB`
  if (maxBytes === 0)
    return [
      warning(
        `maxmemory is not set, ${used} in use: the machine may run out of memory first; redis-cli -u $REDIS_URL CONFIG SET maxmemory 512mb, and the same in redis.conf`,
      ),
    ]
  const share = usedBytes / maxBytes
  const detail = `${used} of maxmemory ${Math.floor(maxBytes / MEGABYTE)} MB in use`
  if (share < SHARE.warning) return [ok(detail)]
  const mend = `${detail}: raise it with redis-cli -u $REDIS_URL CONFIG SET maxmemory, and the same in redis.conf`
  return [share < SHARE.failed ? warning(mend) : failed(mend)]
}
