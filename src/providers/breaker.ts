import type { Logger } from 'pino'
import { withJitter } from '../settings/retry.ts'
import type { ProviderFailure } from './errors/classify.ts'
import type { Provider, SendResult } from './provider.ts'
import type { ProviderRow } from './state.ts'

export type BreakerStore = {
  list: () => Promise<ProviderRow[]>
  open: (trouble: {
    name: string
    code: string
    reason: string
    probeDelayMs: number
    failedProbe: boolean
  }) => Promise<boolean>
  close: (name: string) => Promise<boolean>
  takeProbe: (name: string) => Promise<boolean>
  returnProbe: (name: string) => Promise<void>
}

/** How often one e-mail may be claimed as a probe: another worker may claim it first and not know yet that a probe is due. */
const OFFER_PROBE_EVERY_MS = 500

type ProviderState = {
  provider: Provider
  open: boolean
  failedProbes: number
  failuresInARow: number
  unconnectedInARow: number
  /** When one e-mail may be sent as a probe, by this process's clock. */
  probeDueMs: number
  /** This process is sending the probe. */
  probing: boolean
  /** When this process itself last opened or closed the breaker. */
  changedMs: number
}

/**
 * Chooses the provider of the next e-mail: the first in the configured order whose breaker is closed. Workers share the breakers
 * through Postgres: each reads them every second and writes its own changes at once.
 */
export class Breakers {
  readonly #states: ProviderState[]
  readonly #store: BreakerStore
  readonly #log: Logger
  readonly #onChange: () => void
  readonly #writes = new Set<Promise<void>>()
  #offeredMs = Number.NEGATIVE_INFINITY

  constructor(providers: Provider[], store: BreakerStore, onChange: () => void, log: Logger) {
    this.#states = providers.map(provider => ({
      provider,
      open: false,
      failedProbes: 0,
      failuresInARow: 0,
      unconnectedInARow: 0,
      probeDueMs: Number.POSITIVE_INFINITY,
      probing: false,
      changedMs: Number.NEGATIVE_INFINITY,
    }))
    this.#store = store
    this.#onChange = onChange
    this.#log = log
  }

  /** null: all are parked. A due probe goes first: one e-mail of the first worker that asks tries the parked provider. */
  async route(): Promise<Provider | null> {
    for (const state of this.#states) {
      if (!state.open || (await this.#mayProbe(state))) return state.provider
    }
    return null
  }

  /** For unknown outcomes: only the provider that was called can say. */
  async named(name: string): Promise<Provider | null> {
    const state = this.#states.find(one => one.provider.name === name)
    return state && (!state.open || (await this.#mayProbe(state))) ? state.provider : null
  }

  /** The provider of the next e-mail; null: all are parked. */
  first(): Provider | null {
    return this.#states.find(one => !one.open)?.provider ?? null
  }

  /** How many e-mails may be in flight: any number, none, or one as a probe. Asking offers the probe, once in OFFER_PROBE_EVERY_MS. */
  maxInFlight(): number {
    if (this.#states.some(one => !one.open)) return Number.POSITIVE_INFINITY
    const nowMs = performance.now()
    if (nowMs - this.#offeredMs < OFFER_PROBE_EVERY_MS || !this.#states.some(isDue)) return 0
    this.#offeredMs = nowMs
    return 1
  }

  async #mayProbe(state: ProviderState): Promise<boolean> {
    if (!isDue(state)) return false
    // Ask only once: if another worker got the probe, the next refresh shows it.
    state.probeDueMs = Number.POSITIVE_INFINITY
    state.probing = await this.#store.takeProbe(state.provider.name)
    return state.probing
  }

  /** The e-mail that was routed there did not call the provider: if it was the probe, another one may be it now. */
  notCalled(provider: Provider): void {
    const state = this.#states.find(one => one.provider === provider)
    if (!state?.probing) return
    state.probing = false
    this.#write(this.#store.returnProbe(provider.name))
  }

  /** A result without a call shows nothing about the provider. */
  reportResult(provider: Provider, result: SendResult): void {
    if (result.kind === 'sent') this.report(provider, null)
    else if (!result.notCalled) this.report(provider, result.failure)
  }

  report(provider: Provider, failure: ProviderFailure | null): void {
    const state = this.#states.find(one => one.provider === provider)
    if (!state) return
    const health = assessProvider(failure)
    const answered = health === 'works' || health === 'inconclusive'
    if (health === 'works') state.failuresInARow = 0
    else if (!answered) state.failuresInARow++
    state.unconnectedInARow = health === 'unconnected' ? state.unconnectedInARow + 1 : 0
    // A probe that was only throttled or deferred shows that the provider answers.
    if (state.open && (health === 'works' || (state.probing && answered))) this.#write(this.#closed(state))
    const failedProbe = state.probing && !answered
    const tooMany = state.failuresInARow >= FAILURES_IN_A_ROW || state.unconnectedInARow >= UNCONNECTED_IN_A_ROW
    if (failure && (health === 'park' || failedProbe || (tooMany && !answered)))
      this.#write(this.#opened(state, failure, failedProbe))
  }

  /** The provider reports that its account cannot send now. */
  park(provider: Provider, reason: string): void {
    const state = this.#states.find(one => one.provider === provider)
    if (state && !state.open) this.#write(this.#opened(state, { code: 'PROVIDER_PAUSED', message: reason }, false))
  }

  async #opened(state: ProviderState, failure: { code: string; message: string }, failedProbe: boolean): Promise<void> {
    const { name } = state.provider
    state.open = true
    state.probing = false
    state.changedMs = performance.now()
    state.failuresInARow = 0
    state.unconnectedInARow = 0
    if (failedProbe) state.failedProbes++
    const opened = await this.#store.open({
      name,
      code: failure.code,
      reason: failure.message,
      probeDelayMs: probeDelayMs(state.failedProbes),
      failedProbe,
    })
    if (opened)
      this.#log.error(
        { provider: name, errorCode: failure.code, errorReason: failure.message },
        'Provider parked; mail waits',
      )
  }

  async #closed(state: ProviderState): Promise<void> {
    const { name } = state.provider
    state.open = false
    state.probing = false
    state.changedMs = performance.now()
    state.failedProbes = 0
    this.#onChange()
    if (await this.#store.close(name)) this.#log.info({ provider: name }, 'Provider works again')
  }

  #write(writing: Promise<void>): void {
    const write = writing.catch(error => this.#log.warn({ err: error }, 'Could not save the state of a provider'))
    this.#writes.add(write)
    void write.finally(() => this.#writes.delete(write))
  }

  /** Called every second: reads the changes of other workers and the times of the next probes. */
  async refresh(): Promise<void> {
    await this.flush()
    const readMs = performance.now()
    const rows = new Map((await this.#store.list()).map(row => [row.name, row]))
    for (const state of this.#states) {
      const row = rows.get(state.provider.name)
      // Changes by this worker since it began to read are newer than the row.
      if (!row || state.changedMs >= readMs) continue
      if (state.open && row.state === 'closed') this.#onChange()
      state.open = row.state === 'open'
      state.failedProbes = row.probes
      state.probing &&= state.open
      state.probeDueMs = state.open ? performance.now() + (row.probeInMs ?? 0) : Number.POSITIVE_INFINITY
      if (state.open && isDue(state)) this.#onChange()
    }
  }

  /** Waits for the pending writes. */
  async flush(): Promise<void> {
    await Promise.all(this.#writes)
  }
}

const isDue = ({ open, probeDueMs }: ProviderState) => open && performance.now() >= probeDueMs

/** After so many failures in a row, of any e-mails, the provider is considered broken and is parked. */
export const FAILURES_IN_A_ROW = 10

/** After so many calls in a row without a connection the provider is parked, even if all were for one e-mail. */
const UNCONNECTED_IN_A_ROW = 3

/** When a parked provider is probed: after the first failure, the second, … The last delay is used for all further probes. */
const PROBE_DELAYS_SECONDS = [1, 5, 30, 120, 600] as const

export function probeDelayMs(failedProbes: number, random: () => number = Math.random): number {
  const last = PROBE_DELAYS_SECONDS.length - 1
  return withJitter(PROBE_DELAYS_SECONDS[Math.min(failedProbes, last)]! * 1000, random)
}

/** What an answer shows about the provider itself. */
export type ProviderHealth = 'works' | 'failing' | 'unconnected' | 'park' | 'inconclusive'

/**
 * park: quota, paused account or bad credentials affect every e-mail. failing: no answer, or an error of the provider itself.
 * works: also when it refused this one e-mail. inconclusive: a rate limit, or an SMTP server that defers one e-mail, because
 * greylisted recipients must not park a relay; 421 and silence are the exceptions, since they may be about the server.
 */
export function assessProvider(failure: ProviderFailure | null): ProviderHealth {
  if (!failure) return 'works'
  if (failure.openBreaker) return 'park'
  if (failure.unconnected) return 'unconnected'
  const isAboutServer = failure.originalCode?.startsWith('421') || failure.category === 'TIMEOUT_ERROR'
  if (failure.throttled || (failure.deferred && !isAboutServer)) return 'inconclusive'
  if (failure.category === 'TRANSIENT_ERROR' || failure.category === 'TIMEOUT_ERROR') return 'failing'
  return failure.category === 'QUOTA_ERROR' ? 'inconclusive' : 'works'
}
