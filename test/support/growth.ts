import { expect } from 'vitest'

/** A quadratic algorithm needs many seconds for the sizes in these tests, so anything faster than this is accepted at once. */
const FAST_MS = 1_000
const MIN_ROUNDS = 2
const MAX_ROUNDS = 5
/** Twice the input takes 2 times as long if the time is linear, 4 times if it is quadratic. */
const MAX_RATIO = 3

/** The shortest of several runs: other processes on the machine make a run slower, never faster. */
export function bestMs(work: () => void, runs: number): number {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run++) best = Math.min(best, timeMs(work))
  return best
}

/** Fails when `work` takes clearly more than twice as long for twice the input. */
export function expectLinearTime(inputOf: (size: number) => string, size: number, work: (input: string) => void): void {
  const [half, full] = [inputOf(size / 2), inputOf(size)]
  let fullMs = timeMs(() => work(full))
  if (fullMs < FAST_MS) return
  let halfMs = Number.POSITIVE_INFINITY
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    halfMs = Math.min(
      halfMs,
      timeMs(() => work(half)),
    )
    fullMs = Math.min(
      fullMs,
      timeMs(() => work(full)),
    )
    if (round >= MIN_ROUNDS && (fullMs < FAST_MS || fullMs / halfMs < MAX_RATIO)) return
  }
  expect(fullMs / halfMs, `${halfMs} ms for half of the input, ${fullMs} ms for all of it`).toBeLessThan(MAX_RATIO)
}

function timeMs(work: () => void): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
