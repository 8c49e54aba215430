import { pino } from 'pino'
import { afterEach } from 'vitest'
import type { ClaimLimits } from '../../src/outbox/claim.ts'
import { DirectLane, type DirectLaneOptions, type LeaseLimits } from '../../src/pipeline/lanes/direct.ts'
import { HeldLeases } from '../../src/pipeline/lanes/held-leases.ts'
import { WakeableSleep } from '../../src/platform/sleep.ts'

const NEVER_MS = 60_000
export const soon = () => new Promise(resolve => setTimeout(resolve, 5))

type Job = { name: number; leaveFlight: () => void; finish: () => void; fail: (error: Error) => void }
type Change = Partial<DirectLaneOptions<number>> & {
  renewEveryMs?: number
  end?: () => Promise<void>
  companyOf?: (name: number) => string
}

/** A lane over a plain array, whose work ends when the test says so. */
export function laneOver(
  ready: number[],
  { renewEveryMs = NEVER_MS, end, companyOf = String, ...change }: Change = {},
) {
  const asked: LeaseLimits[] = []
  const running: Job[] = []
  const ended: string[] = []
  const renewed: string[] = []
  const returned: string[] = []
  const logged: string[] = []
  const log = pino({ level: 'trace' }, { write: line => void logged.push(line) })
  const leases = new HeldLeases({
    renew: async ids => void renewed.push(...ids),
    end: end ?? (async ids => void ended.push(...ids)),
    returnUncertain: async ids => void returned.push(...ids),
    renewEveryMs,
    log,
  })
  const batchOf = (names: number[]) => ({
    leaseId: `of ${names.join(' ')}`,
    items: names.map(name => ({ outboxId: String(name), companyId: companyOf(name) })),
    emails: async () => new Map(names.map(name => [String(name), name])),
  })
  const readySleep = change.ready ?? new WakeableSleep()
  const lane = new DirectLane<number>({
    claim: async limits => {
      asked.push(limits)
      ended.push(...limits.endedLeases)
      const names = takeWithin(limits, ready, companyOf)
      return names.length > 0 ? batchOf(names) : null
    },
    work: ({ email, leaveFlight }) =>
      new Promise((resolve, reject) => running.push({ name: email!, leaveFlight, finish: resolve, fail: reject })),
    leases,
    concurrency: 3,
    maxInFlight: () => Number.POSITIVE_INFINITY,
    ready: readySleep,
    idleMs: NEVER_MS,
    log,
    ...change,
  })
  opened.push({ lane, running })
  const names = () => running.map(job => job.name)
  const wake = () => readySleep.wake()
  return {
    lane,
    wake,
    asked,
    running,
    ended,
    renewed,
    returned,
    logged,
    names,
    batchOf,
    sizes: () => asked.map(one => one.size),
  }
}

/** As the claim does: the next that are ready, no more of a company than it has room for. */
function takeWithin(
  { size, allowances, defaultAllowance }: ClaimLimits,
  ready: number[],
  companyOf: (name: number) => string,
): number[] {
  const taken: number[] = []
  const room = new Map(allowances)
  for (const name of [...ready]) {
    const company = companyOf(name)
    const more = room.get(company) ?? defaultAllowance
    if (taken.length === size || more < 1) continue
    room.set(company, more - 1)
    taken.push(name)
    ready.splice(ready.indexOf(name), 1)
  }
  return taken
}

const opened: { lane: DirectLane<number>; running: Job[] }[] = []

afterEach(async () => {
  for (const { lane, running } of opened.splice(0)) {
    const stopped = lane.stop()
    await soon()
    for (const job of running) job.finish()
    await stopped
  }
})
