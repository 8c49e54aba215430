import type { Logger } from 'pino'
import { type Config, suppressionPolicy } from '../config.ts'
import { addToReputation } from '../db/companies/reputation.ts'
import type { Database } from '../db/pool.ts'
import { feedbackLoop } from '../feedback/event-loop.ts'
import { warnOrPauseCompanies } from '../feedback/reputation.ts'
import { recordFeedback } from '../pipeline/feedback.ts'
import { BufferedCounter } from '../runtime/counter.ts'
import { oneAtATime, periodically } from '../runtime/periodic-task.ts'
import type { WakeableSleep } from '../runtime/wakeable-sleep.ts'
import type { EmailLog } from '../telemetry/email-log.ts'
import type { Tracing } from '../telemetry/tracing.ts'

const FLUSH_COUNTS_MS = 2_000
/** Also without new events: the grace period of a warning ends, and old hours no longer count. */
const CHECK_REPUTATIONS_MS = 60_000

export type Feedback = {
  /** An e-mail was sent to so many recipients. */
  countSent: (companyId: string, recipients: number) => void
  start(): void
  stop(): Promise<void>
}

export type FeedbackParts = {
  config: Config
  db: Database
  received: WakeableSleep
  emailLog: EmailLog
  tracing: Tracing
  log: Logger
}

/** Provider events, and the reputation of the companies. */
export function composeFeedback({ config, db, received, emailLog, tracing, log }: FeedbackParts): Feedback {
  const counter = new BufferedCounter(counts =>
    addToReputation(
      db.pool,
      counts.map(([companyId, sent]) => ({ companyId, sent })),
    ),
  )
  // Called every minute and after provider events, which may coincide.
  const checkReputations = oneAtATime(async () => {
    await counter.flush()
    await warnOrPauseCompanies(db.pool, log)
  })
  const deps = { db: db.short, suppression: suppressionPolicy(config), emailLog, tracing, log }
  const loop = feedbackLoop({ record: () => recordFeedback(deps), checkReputations, received, log })
  const every = (ms: number, task: () => Promise<unknown>, message: string) =>
    periodically(ms, task, error => log.warn({ err: error }, message))
  let periodic: (() => Promise<void>)[] = []
  return {
    countSent: (companyId, recipients) => counter.count(companyId, recipients),
    start() {
      loop.start()
      periodic = [
        every(FLUSH_COUNTS_MS, () => counter.flush(), 'Could not write the counts of sent e-mails; trying again'),
        every(CHECK_REPUTATIONS_MS, checkReputations, 'Could not check the reputation of the companies; trying again'),
      ]
    },
    async stop() {
      await Promise.all(periodic.map(stop => stop()))
      await loop.stop()
      await counter.flush().catch(() => {})
    },
  }
}
