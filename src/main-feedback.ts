import type { Logger } from 'pino'
import { type Config, suppressionPolicy } from './config.ts'
import type { Database } from './db/pool.ts'
import { addToReputation } from './db/reputation.ts'
import { judgeCompanies } from './pipeline/company-standing.ts'
import { feedbackLoop } from './pipeline/feedback-loop.ts'
import { oneAtATime, periodically } from './pipeline/periodic.ts'
import { recordFeedback } from './pipeline/record-feedback.ts'
import { Tally } from './pipeline/tally.ts'

const TALLY_MS = 2_000
/** Also without anything new: a warning's time of grace ends, and its hours pass. */
const JUDGE_MS = 60_000

export type Feedback = {
  nudge(): void
  sent: (companyId: string, recipients: number) => void
  start(): void
  stop(): Promise<void>
}

/** What a worker does about the reports in the inbox, and the companies they speak of. */
export function makeFeedback(config: Config, db: Database, log: Logger): Feedback {
  const tally = new Tally(counts =>
    addToReputation(
      db.pool,
      counts.map(([companyId, sent]) => ({ companyId, sent })),
    ),
  )
  // Called by the minute and by the reports, which may be at once.
  const judge = oneAtATime(async () => {
    await tally.flush()
    await judgeCompanies(db.pool, log)
  })
  const deps = { pool: db.hot, suppression: suppressionPolicy(config), log }
  const loop = feedbackLoop(() => recordFeedback(deps), judge, log)
  const stops: (() => void)[] = []
  const every = (ms: number, act: () => Promise<unknown>, what: string) =>
    void stops.push(periodically(ms, act, error => log.warn({ err: error }, what)))
  return {
    nudge: () => loop.nudge(),
    sent: (companyId, recipients) => tally.count(companyId, recipients),
    start() {
      loop.start()
      every(TALLY_MS, () => tally.flush(), 'Could not write what was sent; it is tried again')
      every(JUDGE_MS, judge, 'Could not judge the companies; it is tried again')
    },
    async stop() {
      for (const stop of stops) stop()
      await loop.stop()
      await tally.flush().catch(() => {})
    },
  }
}
