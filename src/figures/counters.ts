import { EMAIL_EVENT_TYPES } from '../outbox/states.ts'
import type { SystemMetric, SystemSnapshot } from './metric.ts'

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

export const COUNTER_METRICS: SystemMetric[] = COUNTERS.map(({ name, labels, help, zeros = [] }) => ({
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

export function valuesOf({ counters }: SystemSnapshot, name: string): Map<string, number> {
  return new Map(counters.filter(one => one.name === name).map(({ label, value }) => [label, value]))
}

/** Several label values are stored as one text, separated by spaces. */
function split(names: readonly string[], text: string): Record<string, string> {
  const values = text.split(' ')
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}
