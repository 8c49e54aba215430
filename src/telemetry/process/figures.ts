import { Histogram, Registry } from 'prom-client'
import { FairRounds } from './fair-rounds.ts'
import { type PoolCounts, registerPools } from './pools.ts'
import { type About, registerRuntime } from './runtime.ts'

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
