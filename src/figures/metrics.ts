import { cachedQuery } from '../platform/cache.ts'
import type { ProcessFigures } from '../platform/telemetry/process-figures.ts'
import { COUNTER_METRICS, valuesOf } from './counters.ts'
import { DEAD_LETTER_METRICS } from './dead-letters.ts'
import {
  gauge,
  labelled,
  type ProviderFigures,
  type RedisFigures,
  type Standing,
  type SystemMetric,
  type SystemSnapshot,
  writeFamilies,
} from './metric.ts'

/** Many scrapes at once, or several processes that are scraped, ask Postgres no more often than this. */
const SYSTEM_CACHE_MS = 2_000
/** On a slow database they are older, so that at most this part of the time is spent on reading them. */
const SYSTEM_SHARE = 1 / 5
const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Metrics = { contentType: string; text: () => Promise<string> }

/** The text of /metrics: first the figures about the whole system, then those about this process. */
export function makeMetrics(readSystem: () => Promise<SystemSnapshot>, figures: ProcessFigures): Metrics {
  const readCached = cachedQuery(SYSTEM_CACHE_MS, readText, { maxShare: SYSTEM_SHARE })

  async function readText() {
    const snapshot = await readSystem()
    const waiting = snapshot.waitingCompanies.filter(one => !one.paused).map(one => one.companyId)
    return { text: systemText(snapshot), waiting }
  }

  async function text(): Promise<string> {
    const system = await readCached()
    figures.rounds.show(system.waiting)
    return system.text + (await figures.text())
  }

  return { contentType: CONTENT_TYPE, text }
}

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
const ofProvider = (name: string, help: string, value: (one: ProviderFigures) => number | null) =>
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

const standing = (name: string, help: string, value: (one: Standing) => number) =>
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

/** Every figure about the whole system. A new one: read it in compose.ts, and describe it in one of these lists. */
export const SYSTEM_METRICS: readonly SystemMetric[] = [
  ...QUEUE_METRICS,
  ...COUNTER_METRICS,
  ...DEAD_LETTER_METRICS,
  ...COMPANY_METRICS,
  ...PROVIDER_METRICS,
  ...SUPPRESSION_METRICS,
  ...OUTSIDE_METRICS,
]

export function systemText(snapshot: SystemSnapshot): string {
  return writeFamilies(SYSTEM_METRICS.map(metric => ({ ...metric, samples: metric.samples(snapshot) })))
}
