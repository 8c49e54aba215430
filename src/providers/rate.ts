import type { Provider } from './provider.ts'

export type RateOptions = {
  /** Recipients per second for this provider; null: no limit. */
  ratePerSecond: (provider: string) => number | null
  /** Increases when the provider was slowed down: earlier reservations are then invalid. */
  slowdowns: (provider: string) => number
  /** Reserves time slots that all workers share. Returns the wait for the first one, null when it is too far away. */
  reserve: (provider: string, recipients: number, ratePerSecond: number) => Promise<number | null>
}

type Sleep = (ms: number) => Promise<void>
type Waiting = { recipients: number; resolve: (waitMs: number | null) => void; reject: (error: unknown) => void }

/**
 * Limits the send rate: every message reserves its own time slot, so there are no windows at whose edges two bursts could meet.
 * Messages that arrive while a reservation is under way share the next one. Resolves to false when the next slot is too far away.
 */
export function sendRate({
  ratePerSecond,
  slowdowns,
  reserve,
}: RateOptions): (provider: Provider, recipients: number, sleep?: Sleep) => Promise<boolean> {
  const queues = new Map<string, Waiting[]>()

  async function reserveForAll(name: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const group = queue.splice(0)
      const rate = ratePerSecond(name)
      try {
        const total = group.reduce((sum, one) => sum + one.recipients, 0)
        let waitMs = rate === null ? 0 : await reserve(name, total, rate)
        for (const one of group) {
          one.resolve(waitMs)
          if (rate !== null && waitMs !== null) waitMs += (one.recipients / rate) * 1000
        }
      } catch (error) {
        for (const one of group) one.reject(error)
      }
    }
    queues.delete(name)
  }

  function reserveSlot(name: string, recipients: number): Promise<number | null> {
    return new Promise((resolve, reject) => {
      const queue = queues.get(name)
      if (queue) queue.push({ recipients, resolve, reject })
      else {
        const newQueue = [{ recipients, resolve, reject }]
        queues.set(name, newQueue)
        void reserveForAll(name, newQueue)
      }
    })
  }

  async function waitForSlot(name: string, recipients: number, sleep: Sleep): Promise<boolean> {
    for (;;) {
      const before = slowdowns(name)
      const waitMs = await reserveSlot(name, recipients)
      if (waitMs === null) return false
      if (waitMs === 0) return true
      await sleep(waitMs)
      if (slowdowns(name) === before) return true
    }
  }

  return async ({ name }, recipients, sleep = ms => new Promise(resolve => setTimeout(resolve, ms))) =>
    ratePerSecond(name) === null || waitForSlot(name, recipients, sleep)
}
