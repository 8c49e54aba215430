/** A figure about the whole system: read from Postgres, and so the same in every process. Aggregate it with max(), never with sum(). */
export type SystemMetric = Omit<Family, 'samples'> & {
  labels: readonly string[]
  samples: (snapshot: SystemSnapshot) => Sample[]
}

export const gauge = (name: string, help: string, value: (snapshot: SystemSnapshot) => number): SystemMetric => ({
  name,
  type: 'gauge',
  help,
  labels: [],
  samples: snapshot => [{ value: value(snapshot) }],
})

/** A value for each label, or for each combination of labels. */
export function labelled<Label extends string>(
  type: 'gauge' | 'counter',
  name: string,
  labels: readonly Label[],
  help: string,
  rows: (snapshot: SystemSnapshot) => [labels: Record<Label, string>, value: number][],
): SystemMetric {
  return {
    name,
    type,
    help,
    labels,
    samples: snapshot => rows(snapshot).map(([own, value]) => ({ labels: own, value })),
  }
}

/** One figure in the text format of Prometheus. `suffix`: for the parts of a histogram. */
export type Sample = { labels?: Record<string, string>; value: number; suffix?: '_bucket' | '_sum' | '_count' }

export type Family = { name: string; type: 'counter' | 'gauge' | 'histogram'; help: string; samples: Sample[] }

/**
 * Figures that are read whole from Postgres are only written down, so they need none of the counting of prom-client.
 * The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function writeFamilies(families: Family[]): string {
  return families.map(writeFamily).join('')
}

function writeFamily({ name, type, help, samples }: Family): string {
  const head = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`
  return head + samples.map(sample => writeSample(name, sample)).join('')
}

function writeSample(name: string, { labels = {}, value, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${suffix ?? ''}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

const escapeLabel = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

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
