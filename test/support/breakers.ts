import type { BreakerStore } from '../../src/providers/breaker.ts'
import type { ProviderFailure } from '../../src/providers/errors/classify.ts'
import type { Provider } from '../../src/providers/provider.ts'
import type { ProviderRow } from '../../src/providers/state.ts'

const provider = (name: string): Provider => ({
  name,
  recognisesAttempts: false,
  send: () => Promise.reject(new Error('not here')),
  close: async () => {},
})
export const [first, second] = [provider('ses'), provider('smtp')]

export const failure = (change: Partial<ProviderFailure> = {}): ProviderFailure => ({
  code: 'SES_SERVICE_UNAVAILABLE',
  category: 'TRANSIENT_ERROR',
  retryable: true,
  openBreaker: false,
  throttled: false,
  unconnected: false,
  deferred: false,
  ambiguous: false,
  originalCode: null,
  message: 'down',
  ...change,
})
export const QUOTA = failure({ code: 'SES_DAILY_QUOTA_EXCEEDED', category: 'QUOTA_ERROR', openBreaker: true })
export const THROTTLED = failure({ code: 'SES_THROTTLING', category: 'QUOTA_ERROR', throttled: true })
export const UNCONNECTED = failure({ code: 'NETWORK_ERROR', unconnected: true })
export const REFUSED = failure({ code: 'SES_MESSAGE_REJECTED', category: 'PERMANENT_ERROR', retryable: false })

type Row = Pick<ProviderRow, 'state' | 'reasonCode' | 'probes'> & { probeAtMs: number | null }

/** The table shared by all workers, with its own clock. */
export class SharedBreakers implements BreakerStore {
  nowMs = 0
  readonly rows = new Map<string, Row>()
  broken = false

  constructor(names: string[]) {
    for (const name of names) this.rows.set(name, { state: 'closed', reasonCode: null, probes: 0, probeAtMs: null })
  }

  list = async () =>
    [...this.rows].map(([name, row]) => ({
      name,
      ...row,
      openedAt: null,
      reason: null,
      ratePerSecond: null,
      slowFrom: null,
      slowTo: null,
      slowedAgoMs: null,
      freeInMs: 0,
      probeInMs: row.probeAtMs === null ? null : row.probeAtMs - this.nowMs,
    }))

  open: BreakerStore['open'] = async ({ name, code, probeDelayMs, failedProbe }) => {
    if (this.broken) throw new Error('no connection')
    const row = this.rows.get(name)!
    const opened = row.state === 'closed'
    const probeAtMs = failedProbe || row.probeAtMs === null ? this.nowMs + probeDelayMs : row.probeAtMs
    this.rows.set(name, { state: 'open', reasonCode: code, probes: row.probes + Number(failedProbe), probeAtMs })
    return opened
  }

  close = async (name: string) => {
    const wasOpen = this.rows.get(name)!.state === 'open'
    this.rows.set(name, { state: 'closed', reasonCode: null, probes: 0, probeAtMs: null })
    return wasOpen
  }

  takeProbe = async (name: string) => {
    const row = this.rows.get(name)!
    if (row.state !== 'open' || row.probeAtMs! > this.nowMs) return false
    row.probeAtMs = this.nowMs + 60_000
    return true
  }

  returnProbe = async (name: string) => {
    this.rows.get(name)!.probeAtMs = this.nowMs
  }
}
