import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import type { TestContext } from 'vitest'
import { recordFault } from './fault-report.ts'
import { SEED } from './seed.ts'

/** `npm test` runs the short edition of every fault, `npm run faults` the full one. A failing run is repeated with its SEED. */
export const FULL = process.env.FAULTS === 'full'
export const edition = <T>(short: T, full: T): T => (FULL ? full : short)

export type Fault = {
  seed: number
  random: () => number
  /** A whole number from low to high. */
  between: (low: number, high: number) => number
  /** For the table of docs/faults.md. */
  report: (row: { done: string; checked: string; figures: Record<string, number | string> }) => void
}

export function fault(context: TestContext, name: string): Fault {
  // The full edition tries other moments each time.
  const seed = edition(SEED, Number(process.env.SEED ?? randomInt(2 ** 31)))
  const random = seeded(seed)
  context.onTestFailed(() =>
    console.log(`To repeat "${context.task.name}": SEED=${seed} FAULTS=${edition('short', 'full')}`),
  )
  return {
    seed,
    random,
    between: (low, high) => low + Math.floor(random() * (high - low + 1)),
    report(row) {
      recordFault(context, { fault: name, ...row })
      if (FULL || process.env.SEED) console.log(`${name}: ${JSON.stringify(row.figures)}`)
    },
  }
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Below the range that outgoing connections are given, so that it is still free after a restart. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000)
    const free = await new Promise<boolean>(resolve => {
      const server = createServer().once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (free) return port
  }
}
