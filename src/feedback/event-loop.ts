import type { Logger } from 'pino'
import type { Recorded } from '../pipeline/feedback.ts'

export type FeedbackLoop = { nudge(): void; start(): void; stop(): Promise<void> }

/** When nobody calls: what another process stored, and what is tried again. */
const IDLE_MS = 500
/** When somebody does: the reports of this time go together, since a batch of one costs as much as one of a hundred. */
const GATHER_MS = 50
const TROUBLE_MS = 1_000

/** Takes in what providers report, some at a time, for as long as there is anything. Any number of processes may do so at once. */
export function feedbackLoop(
  recordSome: () => Promise<Recorded>,
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
      const idleMs = await workOff()
      await rest(GATHER_MS)
      if (!called) await rest(idleMs - GATHER_MS, () => called)
    }
  }

  async function workOff(): Promise<number> {
    try {
      for (let more = true; more && !stopped; ) {
        const { full, judged } = await recordSome()
        if (judged) await judge()
        more = full
      }
      return IDLE_MS
    } catch (error) {
      log.warn({ err: error }, 'Provider events could not be processed; it is tried again')
      return TROUBLE_MS
    }
  }

  /** Ends early when stopped, and when woken, where that is wanted. */
  async function rest(ms: number, early: () => boolean = () => false): Promise<void> {
    if (stopped || early()) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        if (!stopped && !early()) return
        clearTimeout(timer)
        resolve()
      }
    })
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
