import { EMAIL_EVENT_TYPES } from '../outbox/states.ts'
import { cachedQuery } from '../platform/cache.ts'
import type { Database } from '../platform/postgres/pool.ts'
import type { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import type { Config } from '../settings/config.ts'
import { countActive } from '../suppression/reads.ts'
import type { RedisFigures } from './redis.ts'
import { DEAD_LETTER_AGES, readSystem, type SystemSnapshot } from './system.ts'

/** Counting a million entries takes about 100 ms, too long for every scrape. */
const SIZE_CACHE_MS = 30_000
/** Many scrapes at once, or several processes that are scraped, ask Postgres no more often than this. */
const SYSTEM_CACHE_MS = 2_000
/** On a slow database they are older, so that at most this part of the time is spent on reading them. */
const SYSTEM_SHARE = 1 / 5
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Metrics = { contentType: string; text: () => Promise<string> }

/** /metrics of this process. `close` ends its connection to Redis. */
export async function composeMetrics(
  config: Config,
  db: Database,
  figures: ProcessFigures,
): Promise<{ metrics: Metrics; close: () => void }> {
  // Loaded where it is used: ioredis would make every start longer.
  const redis = config.REDIS_URL
    ? (await import('./redis.ts')).redisFigures(config.REDIS_URL)
    : { read: async () => null, close: () => {} }
  const countSuppressions = cachedQuery(SIZE_CACHE_MS, () => countActive(db.pool))
  const metrics = makeMetrics(() => readSystem(config, db, countSuppressions, redis.read), figures)
  return { metrics, close: redis.close }
}

/** The text of /metrics: first the figures about the whole system, then those about this process. */
export function makeMetrics(readSnapshot: () => Promise<SystemSnapshot>, figures: ProcessFigures): Metrics {
  const readCached = cachedQuery(SYSTEM_CACHE_MS, readText, { maxShare: SYSTEM_SHARE })

  async function readText() {
    const snapshot = await readSnapshot()
    const waiting = snapshot.waitingCompanies.filter(one => !one.paused).map(one => one.companyId)
    return {
      text: writeFamilies(SYSTEM_METRICS.map(metric => ({ ...metric, samples: metric.samples(snapshot) }))),
      waiting,
    }
  }

  async function text(): Promise<string> {
    const system = await readCached()
    figures.rounds.show(system.waiting)
    return system.text + (await figures.text())
  }

  return { contentType: CONTENT_TYPE, text }
}

/** A figure about the whole system: read from Postgres, and so the same in every process. Aggregate it with max(), never with sum(). */
type SystemMetric = Omit<Family, 'samples'> & {
  labels: readonly string[]
  samples: (snapshot: SystemSnapshot) => Sample[]
}

const gauge = (name: string, help: string, value: (snapshot: SystemSnapshot) => number): SystemMetric => ({
  name,
  type: 'gauge',
  help,
  labels: [],
  samples: snapshot => [{ value: value(snapshot) }],
})

/** A value for each label, or for each combination of labels. */
function labelled<Label extends string>(
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

type Counted = { name: string; labels: readonly string[]; help: string; zeros?: readonly string[] }

/**
 * Counted in Postgres, so that they are correct after a crash and with several processes. `zeros`: labels that are shown before
 * they are counted, because increase() misses what a series has when it first appears.
 */
const COUNTERS: readonly Counted[] = [
  {
    name: 'pipeline_state_transitions',
    labels: ['state'],
    help: 'Events of e-mails, by type, also of test keys, up to a minute ago',
    zeros: EMAIL_EVENT_TYPES,
  },
  {
    name: 'pipeline_final_state',
    labels: ['state'],
    help: 'Live e-mails that reached a final state, up to a minute ago',
    zeros: ['SENT', 'FAILED', 'REJECTED', 'EXPIRED', 'CANCELLED'],
  },
  {
    name: 'pipeline_retry_count',
    labels: ['category'],
    help: 'Live e-mails that were scheduled for another try, by category of error, up to a minute ago',
  },
  {
    name: 'pipeline_validation_failures',
    labels: ['validation'],
    help: 'Live e-mails that a validation of the worker ended, up to a minute ago',
    zeros: ['INTEGRITY', 'OUTBOX', 'RECIPIENT', 'TEMPLATE'],
  },
  {
    name: 'retry_attempts',
    labels: ['attempt'],
    help: 'Attempts of live e-mails that were sent or failed, by number, up to a minute ago',
  },
  {
    name: 'retry_successes',
    labels: ['attempt'],
    help: 'Attempts of live e-mails that were sent, by number, up to a minute ago',
  },
  { name: 'dlq_entries', labels: [], help: 'Live e-mails that became dead letters, up to a minute ago', zeros: [''] },
  {
    name: 'dlq_by_error_code',
    labels: ['code'],
    help: 'Live e-mails that became dead letters, by error code, up to a minute ago',
  },
  {
    name: 'dlq_by_company',
    labels: ['company_id'],
    help: 'Live e-mails that became dead letters, by company, up to a minute ago',
  },
  {
    name: 'tenant_jobs_processed',
    labels: ['company_id'],
    help: 'Attempts of live e-mails that were settled, by company, up to a minute ago',
  },
  {
    name: 'email_send_requests',
    labels: ['company_id', 'suppressed'],
    help: 'E-mails that were requested, and whether the suppression list stopped them',
  },
  { name: 'unknown_sends', labels: ['reason'], help: 'Sends whose outcome was unknown, by reason' },
  { name: 'unknown_resolved', labels: ['by'], help: 'Unknown outcomes that were resolved, by evidence or policy' },
  {
    name: 'poison_jobs',
    labels: ['reason'],
    help: 'Jobs that were dropped because they were invalid or had no e-mail',
    zeros: ['garbled', 'no-such-email'],
  },
  {
    name: 'orphaned_emails',
    labels: ['status'],
    help: 'Orphaned e-mails (no lease, not ready, not scheduled) that were requeued, by status',
    zeros: ['PENDING', 'PROCESSING', 'RETRY_SCHEDULED', 'UNKNOWN'],
  },
  { name: 'provider_events_received', labels: ['provider', 'type'], help: 'Provider events that were received' },
  {
    name: 'provider_events_ended',
    labels: ['outcome'],
    help: 'Provider events by outcome: processed, ignored, unmatched or unreadable',
  },
  {
    name: 'provider_events_refused',
    labels: ['provider', 'reason'],
    help: 'Provider events that were refused on receipt',
  },
  {
    name: 'admin_logins_refused',
    labels: ['reason'],
    help: 'Logins of administrators that were refused: wrong password, or too many failures before',
  },
  {
    name: 'smtp_messages',
    labels: ['outcome'],
    help: 'Messages received by SMTP, by outcome: accepted or refused',
  },
  { name: 'webhook_deliveries', labels: ['outcome'], help: 'Attempts to deliver a webhook, by outcome' },
  {
    name: 'webhook_endpoints_disabled',
    labels: ['reason'],
    help: 'Webhook endpoints that were disabled because they failed or are gone',
  },
]

const COUNTER_METRICS: SystemMetric[] = COUNTERS.map(({ name, labels, help, zeros = [] }) => ({
  name: `${name}_total`,
  type: 'counter',
  help,
  labels,
  samples(snapshot) {
    const counted = valuesOf(snapshot, name)
    for (const label of zeros) if (!counted.has(label)) counted.set(label, 0)
    return [...counted].map(([label, value]) => ({ labels: split(labels, label), value }))
  },
}))

function valuesOf({ counters }: SystemSnapshot, name: string): Map<string, number> {
  return new Map(counters.filter(one => one.name === name).map(({ label, value }) => [label, value]))
}

/** Several label values are stored as one text, separated by spaces. */
function split(names: readonly string[], text: string): Record<string, string> {
  const values = text.split(' ')
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

const DEAD_LETTER_METRICS: SystemMetric[] = [
  gauge('dlq_size', 'Dead letters', ({ deadLetters }) => deadLetters.size),
  {
    name: 'dlq_age_seconds',
    type: 'histogram',
    help: 'Ages of the dead letters that there are now',
    labels: [],
    samples: ({ deadLetters: { size, youngerThan, ageSumSeconds } }) => [
      ...DEAD_LETTER_AGES.map((age, index) => ({
        labels: { le: String(age) },
        value: youngerThan[index] ?? 0,
        suffix: '_bucket' as const,
      })),
      { labels: { le: '+Inf' }, value: size, suffix: '_bucket' },
      { value: ageSumSeconds, suffix: '_sum' },
      { value: size, suffix: '_count' },
    ],
  },
  labelled('gauge', 'dlq_last_hour', ['company_id'], 'Dead letters of the last hour, by company', ({ deadLetters }) =>
    deadLetters.lastHour.map(({ companyId, entries }) => [{ company_id: companyId }, entries]),
  ),
]

type Answering = Extract<RedisFigures, { up: true }>

/** Without labels; no line without REDIS_URL, or when Redis does not answer. */
const ofRedis = (type: 'gauge' | 'counter', name: string, help: string, value: (redis: Answering) => number) =>
  labelled(type, name, [], help, ({ redis }) => (redis?.up ? [[{}, value(redis)]] : []))

/** What comes in from providers, what goes out to companies, and the Redis of the queue. */
const OUTSIDE_METRICS: SystemMetric[] = [
  gauge(
    'provider_events_waiting',
    'Provider events that are not processed yet, counted up to 100 000',
    ({ inbox }) => inbox.waiting,
  ),
  gauge(
    'oldest_provider_event_seconds',
    'How long the oldest provider event that could be processed has waited',
    ({ inbox }) => inbox.oldestSeconds ?? 0,
  ),
  gauge(
    'webhook_backlog',
    'Webhooks that wait, for now or for a retry, each counted up to 100 000',
    ({ webhooks }) => webhooks.waiting,
  ),
  gauge(
    'webhook_oldest_ready_seconds',
    'Age of the oldest webhook that could be delivered',
    ({ webhooks }) => webhooks.oldestSeconds ?? 0,
  ),
  gauge(
    'webhook_unserved_seconds',
    'How long the oldest webhook has waited for an endpoint that does not fail and that no worker serves',
    ({ webhooks }) => webhooks.unservedSeconds ?? 0,
  ),
  gauge(
    'webhook_endpoints_off',
    'Endpoints that are disabled because they failed or are gone',
    ({ webhooks }) => webhooks.disabled,
  ),
  labelled('gauge', 'queue_redis_up', [], '1 while the Redis of the queue answers this process', ({ redis }) =>
    redis ? [[{}, Number(redis.up)]] : [],
  ),
  ofRedis('gauge', 'queue_redis_memory_used_bytes', 'Memory that Redis uses', redis => redis.usedBytes),
  ofRedis('gauge', 'queue_redis_memory_max_bytes', 'maxmemory of Redis; 0: no limit', redis => redis.maxBytes),
  ofRedis('gauge', 'queue_redis_noeviction', '1 when maxmemory-policy is noeviction', redis =>
    Number(redis.noeviction),
  ),
  ofRedis(
    'counter',
    'queue_redis_oom_errors_total',
    'Commands that Redis refused because its memory was full',
    redis => redis.oomErrors,
  ),
]

/** The names are part of the published contract. */
const SUPPRESSION_METRICS: SystemMetric[] = [
  labelled(
    'gauge',
    'suppression_list_size',
    ['reason'],
    'Active entries of the suppression list, counted at most every 30 seconds',
    ({ suppressionSize }) => Object.entries(suppressionSize).map(([reason, count]) => [{ reason }, count]),
  ),
  labelled(
    'counter',
    'suppression_added_total',
    ['reason'],
    'Entries added, or raised to this reason',
    ({ suppressions }) => suppressions.map(({ reason, added }) => [{ reason }, added]),
  ),
  labelled(
    'counter',
    'suppression_removed_total',
    ['reason', 'action'],
    'Entries that left the list: MANUAL removed by a person, EXPIRED at the end of their lifetime',
    ({ suppressions }) =>
      suppressions.flatMap(({ reason, removed, expired }) => [
        [{ reason, action: 'MANUAL' }, removed],
        [{ reason, action: 'EXPIRED' }, expired],
      ]),
  ),
]

/** null: there is no such figure for this provider. */
const ofProvider = (name: string, help: string, value: (one: SystemSnapshot['providers'][number]) => number | null) =>
  labelled('gauge', name, ['provider'], help, ({ providers }) =>
    providers.flatMap(one => {
      const figure = value(one)
      return figure === null ? [] : [[{ provider: one.name }, figure] as [{ provider: string }, number]]
    }),
  )

const PROVIDER_METRICS: SystemMetric[] = [
  ofProvider('provider_parked', '1 while the provider is parked and mail waits', one => Number(one.parked)),
  ofProvider('provider_parked_seconds', 'How long the provider has been parked', one => one.parkedSeconds),
  ofProvider(
    'provider_quota_per_second',
    'What the provider allows: recipients a second, messages with Resend; none when it is not known',
    one => one.quota,
  ),
  ofProvider(
    'provider_rate_limit_per_second',
    'What the gateway allows itself now: the quota, SEND_RATE_PER_SECOND, or less while the provider throttles',
    one => one.limit,
  ),
]

const standing = (name: string, help: string, value: (one: SystemSnapshot['standings'][number]) => number) =>
  labelled('gauge', name, ['company_id'], help, ({ standings }) =>
    standings.map(one => [{ company_id: one.companyId }, value(one)]),
  )

/** Fairness between companies, and their reputation. */
const COMPANY_METRICS: SystemMetric[] = [
  labelled(
    'gauge',
    'tenant_emails_ready',
    ['company_id'],
    'E-mails of the company that are ready, also while it is paused, counted up to 1 000',
    ({ waitingCompanies }) => waitingCompanies.map(({ companyId, ready }) => [{ company_id: companyId }, ready]),
  ),
  labelled(
    'gauge',
    'tenant_oldest_waiting_seconds',
    ['company_id'],
    'How long the oldest ready e-mail of the company has been due, also while it is paused',
    ({ waitingCompanies }) =>
      waitingCompanies.map(one => [{ company_id: one.companyId }, one.oldestWaitingSeconds ?? 0]),
  ),
  labelled(
    'gauge',
    'tenant_consecutive_batch',
    ['company_id'],
    'How many e-mails in a row the claim took of the company that it served last',
    ({ fairness }) => (fairness ? [[{ company_id: fairness.companyId }, fairness.consecutive]] : []),
  ),
  standing('company_bounce_rate', 'Permanent bounces ÷ recipients of the last 24 hours', one => one.bounceRate),
  standing('company_complaint_rate', 'Complaints ÷ recipients of the last 24 hours', one => one.complaintRate),
  standing('company_warned', '1 while the company is warned for its bounces or complaints', one => Number(one.warned)),
  standing('company_paused', '1 while the company is paused', one => Number(one.paused)),
  labelled(
    'gauge',
    'template_recent_sent',
    ['company_id', 'template'],
    'E-mails of the template that were sent in this hour and the one before; only templates that failed',
    ({ templates }) => templates.map(one => [{ company_id: one.companyId, template: one.template }, one.sent]),
  ),
  labelled(
    'gauge',
    'template_recent_failed',
    ['company_id', 'template'],
    'E-mails of the template that failed or expired in this hour and the one before; only templates that failed',
    ({ templates }) => templates.map(one => [{ company_id: one.companyId, template: one.template }, one.failed]),
  ),
  labelled(
    'gauge',
    'retry_success_rate',
    ['attempt'],
    'Attempts with this number that were sent ÷ all with this number, of all time',
    snapshot => {
      const sent = valuesOf(snapshot, 'retry_successes')
      return [...valuesOf(snapshot, 'retry_attempts')].map(([attempt, all]) => [
        { attempt },
        (sent.get(attempt) ?? 0) / all,
      ])
    },
  ),
  gauge(
    'companies_waiting',
    'Companies that have ready e-mails, also those that are paused',
    ({ companiesWaiting }) => companiesWaiting,
  ),
]

/** What waits, how long, and who works on it. */
const QUEUE_METRICS: SystemMetric[] = [
  gauge(
    'emails_ready',
    'E-mails that are ready, also those of paused companies, counted up to 100 000',
    ({ queue }) => queue.ready,
  ),
  gauge('emails_scheduled', 'E-mails that are due later, counted up to 100 000', ({ queue }) => queue.scheduled),
  gauge(
    'oldest_waiting_email_seconds',
    'How long the oldest ready e-mail of a company that is not paused has been due',
    ({ queue }) => queue.oldestWaitingSeconds ?? 0,
  ),
  gauge('workers_alive', 'Workers with a heartbeat within the last 15 seconds', ({ queue }) => queue.workers),
  gauge('unknown_sends_open', 'E-mails whose outcome is not known yet', ({ queue }) => queue.unknown),
  gauge(
    'oldest_unknown_send_seconds',
    'How long the outcome of the oldest of them has been unknown',
    ({ queue }) => queue.oldestUnknownSeconds ?? 0,
  ),
  gauge(
    'ledger_imbalance',
    'Accepted e-mails that are in no place; 0 is right',
    ({ ledgerImbalance }) => ledgerImbalance,
  ),
  labelled(
    'gauge',
    'housekeeping_last_run_timestamp_seconds',
    ['task'],
    'When each task of housekeeping last ended well, in any process',
    ({ housekeeping }) => housekeeping.map(one => [{ task: one.task }, one.finishedAtSeconds]),
  ),
  labelled(
    'gauge',
    'housekeeping_interval_seconds',
    ['task'],
    'How often each task of housekeeping runs',
    ({ housekeeping }) => housekeeping.map(one => [{ task: one.task }, one.everySeconds]),
  ),
]

/** Every figure about the whole system. A new one: read it in system.ts, and describe it in one of these lists. */
export const SYSTEM_METRICS: readonly SystemMetric[] = [
  ...QUEUE_METRICS,
  ...COUNTER_METRICS,
  ...DEAD_LETTER_METRICS,
  ...COMPANY_METRICS,
  ...PROVIDER_METRICS,
  ...SUPPRESSION_METRICS,
  ...OUTSIDE_METRICS,
]

/** One figure in the text format of Prometheus. `suffix`: for the parts of a histogram. */
type Sample = { labels?: Record<string, string>; value: number; suffix?: '_bucket' | '_sum' | '_count' }

type Family = { name: string; type: 'counter' | 'gauge' | 'histogram'; help: string; samples: Sample[] }

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
