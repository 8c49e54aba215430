import type { Provider } from './provider.ts'

export type RateOptions = {
  /** Recipients per second for this provider; null: no limit. */
  ratePerSecond: (provider: string) => number | null
  /** Counts up when the provider was slowed down: places that were reserved before are void. */
  slowdowns: (provider: string) => number
  /** Reserves places on the timeline that all workers share; answers the wait for the first, null when it is too far away. */
  reserve: (provider: string, recipients: number, ratePerSecond: number) => Promise<number | null>
}

type Sleep = (ms: number) => Promise<void>
type Waiting = { recipients: number; go: (waitMs: number | null) => void; fail: (error: unknown) => void }

/**
 * Sends at an even pace: every message has its own place on the provider's timeline, and there are no windows at whose
 * edges two bursts could meet. Those who come while a reservation is under way share the next one. Resolves to false when
 * there is no place that is worth waiting for.
 */
export function sendRate({
  ratePerSecond,
  slowdowns,
  reserve,
}: RateOptions): (provider: Provider, recipients: number, sleep?: Sleep) => Promise<boolean> {
  const lines = new Map<string, Waiting[]>()

  async function serve(name: string, line: Waiting[]): Promise<void> {
    while (line.length > 0) {
      const group = line.splice(0)
      const rate = ratePerSecond(name)
      try {
        const total = group.reduce((sum, one) => sum + one.recipients, 0)
        let waitMs = rate === null ? 0 : await reserve(name, total, rate)
        for (const one of group) {
          one.go(waitMs)
          if (rate !== null && waitMs !== null) waitMs += (one.recipients / rate) * 1000
        }
      } catch (error) {
        for (const one of group) one.fail(error)
      }
    }
    lines.delete(name)
  }

  function place(name: string, recipients: number): Promise<number | null> {
    return new Promise((go, fail) => {
      const line = lines.get(name)
      if (line) line.push({ recipients, go, fail })
      else {
        const fresh = [{ recipients, go, fail }]
        lines.set(name, fresh)
        void serve(name, fresh)
      }
    })
  }

  async function takeTurn(name: string, recipients: number, sleep: Sleep): Promise<boolean> {
    for (;;) {
      const before = slowdowns(name)
      const waitMs = await place(name, recipients)
      if (waitMs === null) return false
      if (waitMs === 0) return true
      await sleep(waitMs)
      if (slowdowns(name) === before) return true
    }
  }

  return async ({ name }, recipients, sleep = ms => new Promise(resolve => setTimeout(resolve, ms))) =>
    ratePerSecond(name) === null || takeTurn(name, recipients, sleep)
}
