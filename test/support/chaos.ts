import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from './deployment.ts'
import type { Fault } from './faults.ts'
import type { OwnPostgres } from './own-postgres.ts'
import type { RedisServer } from './redis-server.ts'
import type { TcpProxy } from './tcp-proxy.ts'

/** Everything that can be hit. */
export type Parts = {
  postgres: OwnPostgres
  redis: RedisServer | null
  networks: { postgres: TcpProxy; provider: TcpProxy; redis: TcpProxy | null }
  api: Supervised
  workers: Supervised[]
}

/** A process that is started again whenever it ends, as a service manager does. */
export type Supervised = {
  running: () => Running
  /** Ends it by this signal and answers how long that took and how it ended; another one takes its place. */
  replace: (signal: NodeJS.Signals) => Promise<{ ms: number; code: number | null }>
  /** What it said last, for each time that it ended without being told to: while it started, or later. */
  endedByItself: { starting: string[]; running: string[] }
  /** From now on it stays ended. */
  release: () => void
}

const RESTART_MS = 300
const STARTED = /Sending the e-mails|API at http/
const LAST_WORDS = 2_000
/** A process that is told to stop and has not ended by then hangs. */
const STOP_PATIENCE_MS = 90_000

export function supervise(launch: () => Running): Supervised {
  const endedByItself = { starting: [] as string[], running: [] as string[] }
  let released = false
  let replacing = false
  let current = watch(launch())

  function watch(one: Running): Running {
    void one.exited.then(async () => {
      if (released || replacing || one !== current) return
      const said = `${one.output()}${one.errors()}`
      endedByItself[STARTED.test(said) ? 'running' : 'starting'].push(said.slice(-LAST_WORDS))
      await sleep(RESTART_MS)
      if (!released && one === current) current = watch(launch())
    })
    return one
  }

  return {
    running: () => current,
    endedByItself,
    release() {
      released = true
    },
    async replace(signal) {
      replacing = true
      const began = performance.now()
      const one = current
      try {
        one.signal(signal)
      } catch {
        // It has just ended by itself.
      }
      const patience = new AbortController()
      const hangs = sleep(STOP_PATIENCE_MS, null, { signal: patience.signal }).then(() => {
        throw new Error(`pid ${one.pid} neither works nor exits ${STOP_PATIENCE_MS} ms after ${signal}`)
      })
      hangs.catch(() => {})
      const { code } = await Promise.race([one.exited, hangs])
      patience.abort()
      if (!released) current = watch(launch())
      replacing = false
      return { ms: performance.now() - began, code }
    },
  }
}

export type Trouble = {
  name: string
  /** Not in the short edition: what is waited for after it takes longer than that may take. */
  onlyFull?: boolean
  needsRedis?: boolean
  cause: (parts: Parts, fault: Fault) => Promise<unknown>
}

const oneOf = <T>(list: T[], { between }: Fault): T => list[between(0, list.length - 1)]!
const half =
  ({ random }: Fault) =>
  () =>
    random() < 0.5

async function away(part: { kill: () => Promise<void>; start: () => Promise<void> }, { between }: Fault) {
  await part.kill()
  await sleep(between(100, 2_500))
  await part.start()
}

async function slow(network: TcpProxy, { between }: Fault) {
  network.slow(between(10, 150))
  await sleep(between(500, 3_000))
  network.slow(0)
}

/** Longer than the lease of five seconds. */
async function hang(worker: Supervised): Promise<void> {
  const { signal } = worker.running()
  try {
    signal('SIGSTOP')
  } catch {
    // It has just ended by itself, as a start without Postgres does, and is started again.
    return
  }
  await sleep(7_000)
  signal('SIGCONT')
}

export const TROUBLES: Trouble[] = [
  { name: 'worker killed', cause: ({ workers }, own) => oneOf(workers, own).replace('SIGKILL') },
  { name: 'worker killed', cause: ({ workers }, own) => oneOf(workers, own).replace('SIGKILL') },
  { name: 'worker stopped', cause: ({ workers }, own) => oneOf(workers, own).replace('SIGTERM') },
  { name: 'API killed', cause: ({ api }) => api.replace('SIGKILL') },
  { name: 'Postgres killed', cause: ({ postgres }, own) => away(postgres, own) },
  { name: 'Redis killed', needsRedis: true, cause: ({ redis }, own) => away(redis!, own) },
  { name: 'Postgres connections reset', cause: async ({ networks }, own) => networks.postgres.reset(half(own)) },
  { name: 'Redis connections reset', needsRedis: true, cause: async ({ networks }) => networks.redis!.reset() },
  { name: 'provider connections reset', cause: async ({ networks }, own) => networks.provider.reset(half(own)) },
  { name: 'Postgres slow', cause: ({ networks }, own) => slow(networks.postgres, own) },
  { name: 'Redis slow', needsRedis: true, cause: ({ networks }, own) => slow(networks.redis!, own) },
  { name: 'provider slow', cause: ({ networks }, own) => slow(networks.provider, own) },
  {
    name: 'Postgres connections half-open',
    onlyFull: true,
    cause: async ({ networks }, own) => networks.postgres.halfOpen(half(own)),
  },
  {
    name: 'Redis connections half-open',
    onlyFull: true,
    needsRedis: true,
    cause: async ({ networks }) => networks.redis!.halfOpen(),
  },
  {
    name: 'provider connections half-open',
    onlyFull: true,
    cause: async ({ networks }, own) => networks.provider.halfOpen(half(own)),
  },
  { name: 'worker hung', onlyFull: true, cause: ({ workers }, own) => hang(oneOf(workers, own)) },
]
