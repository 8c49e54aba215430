import { Redis } from 'ioredis'

const TIMEOUT_MS = 1_000

/** `up` false: it did not answer, and nothing else is known. */
export type RedisFigures =
  | { up: false }
  | { up: true; usedBytes: number; maxBytes: number; noeviction: boolean; oomErrors: number }

/** Asks the Redis of the queue about its memory, over a connection of its own that is opened at the first question. */
export function redisFigures(url: string): { read: () => Promise<RedisFigures>; close: () => void } {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => null,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
  })
  // Without a listener, ioredis writes to the console. That it is away is said by `up`.
  redis.on('error', () => {})
  async function read(): Promise<RedisFigures> {
    try {
      if (redis.status === 'wait' || redis.status === 'end') await redis.connect()
      const [memory, errors] = await Promise.all([redis.info('memory'), redis.info('errorstats')])
      return { up: true, ...memoryOf(memory), oomErrors: Number(/^errorstat_OOM:count=(\d+)/m.exec(errors)?.[1] ?? 0) }
    } catch {
      return { up: false }
    }
  }
  return { read, close: () => redis.disconnect() }
}

function memoryOf(info: string) {
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? ''
  return {
    usedBytes: Number(field('used_memory') || 0),
    maxBytes: Number(field('maxmemory') || 0),
    noeviction: field('maxmemory_policy') === 'noeviction',
  }
}
