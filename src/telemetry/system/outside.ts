import { gauge, labelled, type SystemMetric } from './metric.ts'
import type { RedisFigures } from './snapshot.ts'

type Answering = Extract<RedisFigures, { up: true }>

/** Without labels; no line without REDIS_URL, or when Redis does not answer. */
const ofRedis = (type: 'gauge' | 'counter', name: string, help: string, value: (redis: Answering) => number) =>
  labelled(type, name, [], help, ({ redis }) => (redis?.up ? [[{}, value(redis)]] : []))

/** What comes in from providers, what goes out to companies, and the Redis of the queue. */
export const OUTSIDE_METRICS: SystemMetric[] = [
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
