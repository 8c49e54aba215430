import type { Logger } from 'pino'
import { type Channel, notifyProcesses } from '../platform/postgres/notifications.ts'
import type { Database } from '../platform/postgres/pool.ts'
import { WakeableSleep } from '../platform/sleep.ts'

/** Wake-ups between the parts of one process. Made before the parts: one part wakes, another one sleeps. */
export type Signals = {
  /** E-mails may be ready: wakes the lane. */
  emailsReady: WakeableSleep
  /** Webhooks may be ready: wakes the dispatcher. */
  webhooksReady: WakeableSleep
  /** Provider events were stored: wakes the feedback loop. */
  eventsReceived: WakeableSleep
}

export const makeSignals = (): Signals => ({
  emailsReady: new WakeableSleep(),
  webhooksReady: new WakeableSleep(),
  eventsReceived: new WakeableSleep(),
})

/** How often other processes are notified at most. */
const NOTIFY_EVERY_MS = 10

/** Wakes this process at once, and the others through Postgres. */
export function notifier(
  db: Database,
  channel: Channel,
  senderId: string,
  signal: WakeableSleep,
  log: Logger,
): () => void {
  let timer: NodeJS.Timeout | null = null
  return () => {
    signal.wake()
    timer ??= setTimeout(() => {
      timer = null
      notifyProcesses(db.pool, channel, senderId).catch(error =>
        log.debug({ err: error }, 'Could not notify the other workers; they look by themselves'),
      )
    }, NOTIFY_EVERY_MS)
    timer.unref()
  }
}
