import type { Logger } from 'pino'

export type FeedbackLoop = { nudge(): void; start(): void; stop(): Promise<void> }

/** When nobody calls: what another process stored, and what is tried again. */
const IDLE_MS = 500
const TROUBLE_MS = 1_000

/** Takes in what providers report, some at a time, for as long as there is anything. Any number of processes may do so at once. */
export function feedbackLoop(
  recordSome: () => Promise<{ taken: number; judged: boolean }>,
  judge: () => Promise<unknown>,
  log: Logger,
): FeedbackLoop {
  let stopped = true
  let called = false
  let wake = () => {}
  let running = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopped) {
      called = false
      const waitMs = await workOff()
      if (called || stopped) continue
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, waitMs)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  async function workOff(): Promise<number> {
    try {
      for (let more = true; more && !stopped; ) {
        const { taken, judged } = await recordSome()
        if (judged) await judge()
        more = taken > 0
      }
      return IDLE_MS
    } catch (error) {
      log.warn({ err: error }, 'Provider events could not be processed; it is tried again')
      return TROUBLE_MS
    }
  }

  return {
    nudge() {
      called = true
      wake()
    },
    start() {
      stopped = false
      running = run()
    },
    async stop() {
      stopped = true
      wake()
      await running
    },
  }
}
