import { Redis } from 'ioredis'

/**
 * Writes once for all that is said in a turn of the event loop. Jobs end in crowds, as they were started, and a write for each
 * was a third of what a command costs this process (12.6 µs, 8.3 without). Auto-pipelining would write once, too, but holds every
 * answer back until the last one of the turn is there.
 */
export class CrowdRedis extends Redis {
  override sendCommand(...said: Parameters<Redis['sendCommand']>): unknown {
    const { stream } = this
    if (stream?.writable && stream.writableCorked === 0) {
      stream.cork()
      setImmediate(() => stream.uncork())
    }
    return super.sendCommand(...said)
  }
}
