import type { Logger } from 'pino'
import { FAILURES_IN_A_ROW, judgeProvider, probeDelayMs, UNCONNECTED_IN_A_ROW } from '../contracts/breaker.ts'
import type { ProviderFailure } from '../contracts/provider-errors/classify.ts'
import type { ProviderRow } from '../db/providers.ts'
import type { Provider, SendResult } from './provider.ts'

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
}

/** One e-mail at a time is offered as a probe: it may end in the hands of a worker that does not know of it yet. */
const OFFER_EVERY_MS = 500

type Known = {
  provider: Provider
  open: boolean
  reasonCode: string | null
  failedProbes: number
  failuresInARow: number
  unconnectedInARow: number
  /** When one e-mail may see whether it works again, by this process's clock. */
  probeDueMs: number
  /** This process is sending that e-mail. */
  probing: boolean
  /** When this process itself opened or closed it. */
  changedMs: number
}

/**
 * Which provider takes the next e-mail: the first in the order whose breaker is closed. The breakers are shared by all
 * workers through Postgres; each looks there every second and tells what it learns itself at once.
 */
export class Breakers {
  readonly #known: Known[]
  readonly #store: BreakerStore
  readonly #log: Logger
  readonly #onChange: () => void
  readonly #telling = new Set<Promise<void>>()
  #offeredMs = Number.NEGATIVE_INFINITY

  constructor(providers: Provider[], store: BreakerStore, onChange: () => void, log: Logger) {
    this.#known = providers.map(provider => ({
      provider,
      open: false,
      reasonCode: null,
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

  /** null: all are parked. A probe goes first: one e-mail tries the parked provider, whichever worker asks first. */
  async route(): Promise<Provider | null> {
    for (const known of this.#known) {
      if (!known.open || (await this.#mayProbe(known))) return known.provider
    }
    return null
  }

  /** An unknown outcome is asked about where it arose, and nowhere else. */
  async named(name: string): Promise<Provider | null> {
    const known = this.#known.find(one => one.provider.name === name)
    return known && (!known.open || (await this.#mayProbe(known))) ? known.provider : null
  }

  /** Where the next e-mail goes; null: all are parked. */
  first(): Provider | null {
    return this.#known.find(one => !one.open)?.provider ?? null
  }

  /** How many e-mails may be in hand: any number, one to probe with, or none. */
  mayClaim(): number {
    if (this.#known.some(one => !one.open)) return Number.POSITIVE_INFINITY
    const nowMs = performance.now()
    if (nowMs - this.#offeredMs < OFFER_EVERY_MS || !this.#known.some(isDue)) return 0
    this.#offeredMs = nowMs
    return 1
  }

  async #mayProbe(known: Known): Promise<boolean> {
    if (!isDue(known)) return false
    // Asked once: another worker may have won, and the next reading tells.
    known.probeDueMs = Number.POSITIVE_INFINITY
    known.probing = await this.#store.takeProbe(known.provider.name)
    return known.probing
  }

  /** A call that was never made has shown nothing. */
  reportResult(provider: Provider, result: SendResult): void {
    if (result.kind === 'sent') this.report(provider, null)
    else if (!result.notAsked) this.report(provider, result.failure)
  }

  report(provider: Provider, failure: ProviderFailure | null): void {
    const known = this.#known.find(one => one.provider === provider)
    if (!known) return
    const health = judgeProvider(failure)
    const answered = health === 'works' || health === 'says-nothing'
    if (health === 'works') known.failuresInARow = 0
    else if (!answered) known.failuresInARow++
    known.unconnectedInARow = health === 'unconnected' ? known.unconnectedInARow + 1 : 0
    // A probe that was only put off has shown that the provider answers.
    if (known.open && (health === 'works' || (known.probing && answered))) this.#tell(this.#closed(known))
    const failedProbe = known.probing && !answered
    const tooMany = known.failuresInARow >= FAILURES_IN_A_ROW || known.unconnectedInARow >= UNCONNECTED_IN_A_ROW
    if (failure && (health === 'parked' || failedProbe || (tooMany && !answered)))
      this.#tell(this.#opened(known, failure, failedProbe))
  }

  /** The provider itself said that it takes nothing now. */
  park(provider: Provider, reason: string): void {
    const known = this.#known.find(one => one.provider === provider)
    if (known && !known.open) this.#tell(this.#opened(known, { code: 'PROVIDER_PAUSED', message: reason }, false))
  }

  async #opened(known: Known, failure: { code: string; message: string }, failedProbe: boolean): Promise<void> {
    const { name } = known.provider
    known.open = true
    known.probing = false
    known.changedMs = performance.now()
    known.reasonCode = failure.code
    known.failuresInARow = 0
    known.unconnectedInARow = 0
    if (failedProbe) known.failedProbes++
    const opened = await this.#store.open({
      name,
      code: failure.code,
      reason: failure.message,
      probeDelayMs: probeDelayMs(known.failedProbes),
      failedProbe,
    })
    if (opened)
      this.#log.error(
        { provider: name, errorCode: failure.code, errorReason: failure.message },
        'Provider parked; mail waits',
      )
  }

  async #closed(known: Known): Promise<void> {
    const { name } = known.provider
    known.open = false
    known.probing = false
    known.changedMs = performance.now()
    known.failedProbes = 0
    this.#onChange()
    if (await this.#store.close(name)) this.#log.info({ provider: name }, 'Provider works again')
  }

  #tell(telling: Promise<void>): void {
    const told = telling.catch(error => this.#log.warn({ err: error }, 'Could not share the state of a provider'))
    this.#telling.add(told)
    void told.finally(() => this.#telling.delete(told))
  }

  /** Every second: what the other workers learnt, and when it is time for a probe. */
  async refresh(): Promise<void> {
    await Promise.all(this.#telling)
    const lookedMs = performance.now()
    const rows = new Map((await this.#store.list()).map(row => [row.name, row]))
    for (const known of this.#known) {
      const row = rows.get(known.provider.name)
      // What this worker has seen since it looked is newer.
      if (!row || known.changedMs >= lookedMs) continue
      if (known.open && row.state === 'closed') this.#onChange()
      known.open = row.state === 'open'
      known.reasonCode = row.reasonCode
      known.failedProbes = row.probes
      known.probing &&= known.open
      known.probeDueMs = known.open ? performance.now() + (row.probeInMs ?? 0) : Number.POSITIVE_INFINITY
      if (known.open && isDue(known)) this.#onChange()
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#telling)
  }
}

const isDue = ({ open, probeDueMs }: Known) => open && performance.now() >= probeDueMs
