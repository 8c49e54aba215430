import type { Logger } from 'pino'
import { WakeableSleep } from '../../platform/sleep.ts'

/** again: there may be more events to record now. reputationChanged: a company may have passed a limit. */
export type Recorded = { taken: number; again: boolean; reputationChanged: boolean }

export type FeedbackLoopOptions = {
  record: () => Promise<Recorded>
  /** Warns and pauses companies. */
  checkReputations: () => Promise<unknown>
  /** Woken when this process has stored provider events. */
  received: WakeableSleep
  log: Logger
}

export type FeedbackLoop = { start(): void; stop(): Promise<void> }

/** Between two looks for what other processes stored, and for events that are tried again. */
const IDLE_MS = 500
/** Events of this time are processed together: a batch of one costs as much as one of a hundred. */
const GATHER_MS = 50
const AFTER_ERROR_MS = 1_000

/** Processes provider events in batches, for as long as there are any. Several processes may do so at once. */
export function feedbackLoop({ record, checkReputations, received, log }: FeedbackLoopOptions): FeedbackLoop {
  const gathering = new WakeableSleep()
  let stopped = true
  let running = Promise.resolve()

  async function run(): Promise<void> {
    while (!stopped) {
      received.clear()
      const idleMs = await processAll()
      await gathering.sleep(GATHER_MS)
      await received.sleep(idleMs - GATHER_MS)
    }
  }

  /** Returns how long to sleep. */
  async function processAll(): Promise<number> {
    try {
      for (let more = true; more && !stopped; ) {
        const { again, reputationChanged } = await record()
        if (reputationChanged) await checkReputations()
        more = again
      }
      return IDLE_MS
    } catch (error) {
      log.warn({ err: error }, 'Provider events could not be processed; trying again')
      return AFTER_ERROR_MS
    }
  }

  return {
    start() {
      stopped = false
      gathering.clear()
      running = run()
    },
    async stop() {
      stopped = true
      gathering.wake()
      received.wake()
      await running
    },
  }
}
