/** Everything about the whole system that /metrics shows, read at one moment. */
export type SystemSnapshot = {
  counters: { name: string; label: string; value: number }[]
  queue: {
    ready: number
    scheduled: number
    oldestWaitingSeconds: number | null
    workers: number
    unknown: number
    oldestUnknownSeconds: number | null
  }
  deadLetters: DeadLetterFigures
  providers: ProviderFigures[]
  fairness: { companyId: string; consecutive: number } | null
  companiesWaiting: number
  /** Those that have waited longest. */
  waitingCompanies: WaitingCompany[]
  standings: Standing[]
  templates: { companyId: string; template: string; sent: number; failed: number }[]
  suppressionSize: Record<string, number>
  suppressions: { reason: string; added: number; removed: number; expired: number }[]
  inbox: { waiting: number; oldestSeconds: number | null }
  webhooks: { waiting: number; oldestSeconds: number | null; unservedSeconds: number | null; disabled: number }
  /** E-mails that have lost their row or their events. */
  ledgerImbalance: number
  housekeeping: { task: string; everySeconds: number; finishedAtSeconds: number }[]
  /** null: the gateway runs without Redis. */
  redis: RedisFigures | null
}

type DeadLetterFigures = {
  size: number
  /** How many are at most so old, for each of DEAD_LETTER_AGES; and the sum of all ages. */
  youngerThan: number[]
  ageSumSeconds: number
  lastHour: { companyId: string; entries: number }[]
}

export type ProviderFigures = {
  name: string
  parked: boolean
  parkedSeconds: number
  /** Recipients, or messages, a second. null: no limit is known. */
  quota: number | null
  limit: number | null
}

type WaitingCompany = { companyId: string; ready: number; oldestWaitingSeconds: number | null; paused: boolean }
export type Standing = {
  companyId: string
  bounceRate: number
  complaintRate: number
  warned: boolean
  paused: boolean
}

/** `up` false: it did not answer, and nothing else is known. */
export type RedisFigures =
  | { up: false }
  | { up: true; usedBytes: number; maxBytes: number; noeviction: boolean; oomErrors: number }
