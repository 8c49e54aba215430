import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, type Registry } from 'prom-client'

export type About = { version: string; role: string }

const RESOLUTION_MS = 10
const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** Node's own figures. Returns a function that stops measuring. */
export function registerRuntime(registry: Registry, about: About): () => void {
  const registers = [registry]
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const own = new Gauge({
    name: 'email_gateway_info',
    help: '1, with the version and the role of this process',
    labelNames: ['version', 'role'],
    registers,
  })
  own.set(about, 1)
  gauge('process_start_time_seconds', 'When this process started', () => performance.timeOrigin / 1000)
  gauge('process_resident_memory_bytes', 'Memory of this process', () => process.memoryUsage.rss())
  gauge('process_heap_used_bytes', 'JavaScript objects in memory', () => process.memoryUsage().heapUsed)
  gauge('event_loop_lag_p50_seconds', 'How late timers are, half of them, since the last scrape', () => lag(50))
  gauge('event_loop_lag_p99_seconds', 'How late timers are, one in a hundred, since the last scrape', () => {
    const seconds = lag(99)
    // The last of the two gauges that is asked; the next scrape measures anew.
    delays.reset()
    return seconds
  })
  let countedMicros = 0
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process, user and system',
    registers,
    collect() {
      const { user, system } = process.cpuUsage()
      this.inc((user + system - countedMicros) / MICROSECONDS)
      countedMicros = user + system
    },
  })
  return () => void delays.disable()

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  }

  /** A timer that is on time is measured as its resolution. NaN before the first measurement. */
  function lag(percentile: number): number {
    const seconds = delays.percentile(percentile) / NANOSECONDS - RESOLUTION_MS / 1000
    return Number.isFinite(seconds) ? Math.max(0, seconds) : 0
  }
}
