import { Counter, Gauge, Registry } from 'prom-client'

export type MetricsSnapshot = {
  counters: { name: string; label: string; value: number }[]
  providers: { name: string; open: boolean }[]
  waiting: number
  oldestWaitingSeconds: number | null
  unknown: number
  deadLetters: number
  workers: { concurrency: number }[]
  webhooks: { waiting: number; oldestSeconds: number | null; disabled: number }
  sendRequests: { companyId: string; requests: number; suppressed: number }[]
  suppressionSize: Record<string, number>
  inbox: { waiting: number; oldestSeconds: number | null }
  standings: { companyId: string; bounceRate: number; complaintRate: number; warned: boolean; paused: boolean }[]
  suppressions: { reason: string; added: number; removed: number; expired: number }[]
  imbalance: number
}

/** Counted in Postgres, so that they are correct after a crash and with several processes. */
const COUNTERS: Record<string, { help: string; labels: string[] }> = {
  unknown_sends: { help: 'Sends whose outcome was unknown, by reason', labels: ['reason'] },
  unknown_resolved: { help: 'Unknown outcomes that were resolved, by evidence or policy', labels: ['by'] },
  poison_jobs: { help: 'Jobs that were dropped because they were invalid or had no e-mail', labels: ['reason'] },
  orphaned_emails: {
    help: 'Orphaned e-mails (no lease, not ready, not scheduled) that were requeued, by status',
    labels: ['status'],
  },
  provider_events_received: { help: 'Provider events that were received', labels: ['provider', 'type'] },
  provider_events_ended: {
    help: 'Provider events by outcome: processed, ignored, unmatched or unreadable',
    labels: ['outcome'],
  },
  provider_events_refused: {
    help: 'Provider events that were refused on receipt',
    labels: ['provider', 'reason'],
  },
  admin_logins_refused: {
    help: 'Logins of administrators that were refused: wrong password, or too many failures before',
    labels: ['reason'],
  },
  smtp_messages: { help: 'Messages received by SMTP, by outcome: accepted or refused', labels: ['outcome'] },
  webhook_deliveries: { help: 'Attempts to deliver a webhook, by outcome', labels: ['outcome'] },
  webhook_endpoints_disabled: {
    help: 'Webhook endpoints that were disabled because they failed or are gone',
    labels: ['reason'],
  },
}

/** The text of /metrics. The values are read when it is requested. */
export function makeMetrics(read: () => Promise<MetricsSnapshot>): {
  contentType: string
  text: () => Promise<string>
} {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const counters = Object.entries(COUNTERS).map(([name, { help, labels }]) => ({
    name,
    labels,
    counter: new Counter({ name: `${name}_total`, help, labelNames: labels, registers }),
  }))
  const parked = gauge('provider_parked', '1 while the provider is parked and mail waits', ['provider'])
  const waiting = gauge('emails_ready', 'E-mails that could be sent now, counted up to 100 000')
  const oldest = gauge('oldest_waiting_email_seconds', 'How long the oldest e-mail that could be sent has been due')
  const unknown = gauge('unknown_sends_open', 'E-mails whose outcome is not known yet')
  const dlq = gauge('dlq_size', 'Dead letters')
  const workers = gauge('workers_alive', 'Workers with a heartbeat within the last 15 seconds')

  const imbalance = gauge('ledger_imbalance', 'E-mails that have lost their row or their events; 0 is right')

  const showSuppression = suppressionMetrics(registry)
  const showFeedback = feedbackMetrics(registry)
  const webhooks = gauge('webhook_backlog', 'Webhooks that wait, for now or for a retry, each counted up to 100 000')
  const oldestWebhook = gauge('webhook_oldest_ready_seconds', 'Age of the oldest webhook that could be delivered')
  const disabled = gauge('webhook_endpoints_off', 'Endpoints that are disabled because they failed or are gone')

  async function text(): Promise<string> {
    const snapshot = await read()
    for (const { name, labels, counter } of counters) {
      counter.reset()
      for (const one of snapshot.counters) if (one.name === name) counter.inc(labelled(labels, one.label), one.value)
    }
    parked.reset()
    for (const provider of snapshot.providers) parked.set({ provider: provider.name }, provider.open ? 1 : 0)
    waiting.set(snapshot.waiting)
    oldest.set(snapshot.oldestWaitingSeconds ?? 0)
    unknown.set(snapshot.unknown)
    dlq.set(snapshot.deadLetters)
    workers.set(snapshot.workers.length)
    imbalance.set(snapshot.imbalance)
    showSuppression(snapshot)
    showFeedback(snapshot)
    webhooks.set(snapshot.webhooks.waiting)
    oldestWebhook.set(snapshot.webhooks.oldestSeconds ?? 0)
    disabled.set(snapshot.webhooks.disabled)
    return registry.metrics()
  }

  return { contentType: registry.contentType, text }
}

/** Several label values are stored as one text, separated by spaces. */
function labelled(names: string[], text: string): Record<string, string> {
  const values = text.split(' ')
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

/** The backlog of provider events, and the reputation of the companies that have sent lately. */
function feedbackMetrics(registry: Registry): (snapshot: MetricsSnapshot) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const waiting = gauge('provider_events_waiting', 'Provider events that are not processed yet, counted up to 100 000')
  const oldest = gauge(
    'oldest_provider_event_seconds',
    'How long the oldest provider event that could be processed has waited',
  )
  const bounces = gauge('company_bounce_rate', 'Permanent bounces ÷ recipients of the last 24 hours', ['company_id'])
  const complaints = gauge('company_complaint_rate', 'Complaints ÷ recipients of the last 24 hours', ['company_id'])
  const warned = gauge('company_warned', '1 while the company is warned for its bounces or complaints', ['company_id'])
  const paused = gauge('company_paused', '1 while the company is paused', ['company_id'])
  return function showFeedback({ inbox, standings }) {
    waiting.set(inbox.waiting)
    oldest.set(inbox.oldestSeconds ?? 0)
    for (const metric of [bounces, complaints, warned, paused]) metric.reset()
    for (const one of standings) {
      const company = { company_id: one.companyId }
      bounces.set(company, one.bounceRate)
      complaints.set(company, one.complaintRate)
      warned.set(company, one.warned ? 1 : 0)
      paused.set(company, one.paused ? 1 : 0)
    }
  }
}

/** The names are part of the published contract. */
function suppressionMetrics(registry: Registry): (snapshot: MetricsSnapshot) => void {
  const registers = [registry]
  const requests = new Counter({
    name: 'email_send_requests_total',
    help: 'E-mails that were requested, and whether the suppression list stopped them',
    labelNames: ['company_id', 'suppressed'],
    registers,
  })
  const size = new Gauge({
    name: 'suppression_list_size',
    help: 'Active entries of the suppression list, counted at most every 30 seconds',
    labelNames: ['reason'],
    registers,
  })
  const added = new Counter({
    name: 'suppression_added_total',
    help: 'Entries added, or raised to this reason',
    labelNames: ['reason'],
    registers,
  })
  const removed = new Counter({
    name: 'suppression_removed_total',
    help: 'Entries that left the list: MANUAL removed by a person, EXPIRED at the end of their lifetime',
    labelNames: ['reason', 'action'],
    registers,
  })
  return function showSuppression({ sendRequests, suppressionSize, suppressions }) {
    for (const metric of [requests, size, added, removed]) metric.reset()
    for (const one of sendRequests) {
      requests.inc({ company_id: one.companyId, suppressed: 'false' }, one.requests - one.suppressed)
      requests.inc({ company_id: one.companyId, suppressed: 'true' }, one.suppressed)
    }
    for (const [reason, count] of Object.entries(suppressionSize)) size.set({ reason }, count)
    for (const one of suppressions) {
      const { reason } = one
      added.inc({ reason }, one.added)
      removed.inc({ reason, action: 'MANUAL' }, one.removed)
      removed.inc({ reason, action: 'EXPIRED' }, one.expired)
    }
  }
}
