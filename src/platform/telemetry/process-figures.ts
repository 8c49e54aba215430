import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { calculateRoundRobinPriority } from '../fairness.ts'

/** Steps whose concurrent small writes share a commit. */
export type BatchStep = 'accept' | 'claim' | 'start' | 'settle'
export type CallOutcome = 'sent' | 'failed' | 'throttled' | 'unconnected' | 'unknown'

/** What is counted of a settlement. */
export type SettledFigures = {
  status: string
  durationMs: number
  retryDelayMs?: number | undefined
}

/** An answered request. `route`: its pattern, never its URL. */
export type RequestFigures = { method: string; route: string; status: number; durationMs: number }

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]
const CALL_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const ATTEMPT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/** The steps of the retry policies: 1, 5, 30, 120 s; minutes; hours. */
const DELAY_SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 4500]
const BATCH_ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/**
 * Figures about this process alone. They start at zero with it; sum them over all processes. Counted in memory: nothing here
 * writes to the database.
 */
export class ProcessFigures {
  readonly registry = new Registry()
  readonly rounds: FairRounds
  readonly #durations: Histogram<'state'>
  readonly #delays: Histogram
  readonly #calls: Histogram<'provider' | 'outcome'>
  readonly #batches: Histogram<'step'>
  readonly #requests: Histogram<'method' | 'route' | 'status'>
  readonly #stopRuntime: () => void

  constructor(about: About, pools: Record<string, PoolCounts>) {
    const registers = [this.registry]
    this.#durations = new Histogram({
      name: 'pipeline_processing_duration_seconds',
      help: 'From the beginning of an attempt to its outcome, by the status that it led to',
      labelNames: ['state'],
      buckets: ATTEMPT_SECONDS,
      registers,
    })
    this.#delays = new Histogram({
      name: 'retry_backoff_delay_seconds',
      help: 'Delays until the next try that were scheduled',
      buckets: DELAY_SECONDS,
      registers,
    })
    this.#calls = new Histogram({
      name: 'provider_call_duration_seconds',
      help: 'Calls to providers, by outcome: sent, failed, throttled, unconnected or unknown',
      labelNames: ['provider', 'outcome'],
      buckets: CALL_SECONDS,
      registers,
    })
    this.#batches = new Histogram({
      name: 'batch_items',
      help: 'How many e-mails shared one commit, by step; empty claims are not counted',
      labelNames: ['step'],
      buckets: BATCH_ITEMS,
      registers,
    })
    this.#requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'HTTP requests, from the headers to the end of the answer, by route and class of the status; admin routes as one',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_SECONDS,
      registers,
    })
    this.rounds = new FairRounds(this.registry)
    registerPools(this.registry, pools)
    this.#stopRuntime = registerRuntime(this.registry, about)
  }

  settled({ status, durationMs, retryDelayMs }: SettledFigures): void {
    this.#durations.observe({ state: status }, durationMs / 1000)
    if (retryDelayMs !== undefined) this.#delays.observe(retryDelayMs / 1000)
  }

  called(provider: string, outcome: CallOutcome, ms: number): void {
    this.#calls.observe({ provider, outcome }, ms / 1000)
  }

  batch(step: BatchStep, items: number): void {
    if (items > 0) this.#batches.observe({ step }, items)
  }

  answered({ method, route, status, durationMs }: RequestFigures): void {
    this.#requests.observe({ method, route, status: `${Math.floor(status / 100)}xx` }, durationMs / 1000)
  }

  text(): Promise<string> {
    return this.registry.metrics()
  }

  close(): void {
    this.#stopRuntime()
  }
}

/** Of a connection pool of `pg`. */
type PoolCounts = { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }

/** The connection pools of this process, read when they are asked for. */
function registerPools(registry: Registry, pools: Record<string, PoolCounts>): void {
  const all = Object.entries(pools)
  new Gauge({
    name: 'postgres_pool_connections',
    help: 'Open connections to Postgres, by pool and whether a statement runs on them',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { totalCount, idleCount }] of all) {
        this.set({ pool, state: 'idle' }, idleCount)
        this.set({ pool, state: 'busy' }, totalCount - idleCount)
      }
    },
  })
  new Gauge({
    name: 'postgres_pool_waiting',
    help: 'Statements that wait for a connection, by pool',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, { waitingCount }] of all) this.set({ pool }, waitingCount)
    },
  })
}

type About = { version: string; role: string }

const RESOLUTION_MS = 10
const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

/** Node's own figures. Returns a function that stops measuring. */
function registerRuntime(registry: Registry, about: About): () => void {
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

/** Companies that are remembered. One that was forgotten counts from the next scrape that finds it waiting. */
const MAX_COMPANIES = 10_000
/** A process that has claimed nothing for so long says nothing about fairness: it is an API, or another one is the feeder. */
const SILENT_MS = 60_000

/**
 * How fair the claims of this process are. The claim serves the companies that have mail in the order of their ids, again and
 * again: a round is over when an id is not above the one before it. A company that waits while rounds pass is starving.
 */
export class FairRounds {
  readonly #without: Gauge<'company_id'>
  readonly #priority: Gauge<'company_id'>
  /** The round in which a company was served last, or was first found waiting by a scrape. */
  readonly #lastRound = new Map<string, number>()
  #waiting = new Set<string>()
  #round = 0
  #last = ''
  #claimedMs = Number.NEGATIVE_INFINITY
  readonly #nowMs: () => number

  constructor(registry: Registry, nowMs = () => performance.now()) {
    this.#nowMs = nowMs
    const gauge = (name: string, help: string) =>
      new Gauge({ name, help, labelNames: ['company_id'], registers: [registry] })
    this.#without = gauge(
      'tenant_rounds_without_processing',
      'Rounds of the claims of this process since the company, which has e-mails waiting, was served last',
    )
    this.#priority = gauge(
      'tenant_current_priority',
      'The same as a priority: 5 for a company that was just served, down to 1, the most urgent',
    )
  }

  /** The companies of one claim, in its order. */
  claimed(companyIds: readonly string[]): void {
    if (companyIds.length > 0) this.#claimedMs = this.#nowMs()
    for (const companyId of companyIds) {
      if (companyId < this.#last) this.#round++
      this.#last = companyId
      this.#lastRound.delete(companyId)
      this.#lastRound.set(companyId, this.#round)
    }
    for (const oldest of this.#lastRound.keys()) {
      if (this.#lastRound.size <= MAX_COMPANIES) break
      this.#lastRound.delete(oldest)
    }
  }

  /** Whose mail waits now, at a scrape. A company that did not wait at the scrape before starts at zero. */
  show(companyIds: readonly string[]): void {
    this.#without.reset()
    this.#priority.reset()
    const isClaiming = this.#nowMs() - this.#claimedMs < SILENT_MS
    for (const companyId of companyIds) {
      if (!this.#waiting.has(companyId) || !this.#lastRound.has(companyId)) this.#lastRound.set(companyId, this.#round)
      if (!isClaiming) continue
      const rounds = this.#round - this.#lastRound.get(companyId)!
      this.#without.set({ company_id: companyId }, rounds)
      this.#priority.set({ company_id: companyId }, calculateRoundRobinPriority(rounds))
    }
    this.#waiting = new Set(companyIds)
  }
}
