import { Counter, Gauge, Registry } from 'prom-client'

export type MetricsSnapshot = {
  counters: { name: string; label: string; value: number }[]
  providers: { name: string; open: boolean }[]
  waiting: number
  oldestWaitingSeconds: number | null
  unknown: number
  deadLetters: number
  workers: { concurrency: number }[]
  sendRequests: { companyId: string; requests: number; suppressed: number }[]
  suppressionSize: Record<string, number>
  suppressions: { reason: string; added: number; removed: number; expired: number }[]
}

/** Counted in Postgres, so that neither a crash nor the number of processes falsifies them. */
const COUNTERS: Record<string, { help: string; label: string }> = {
  unknown_sends: { help: 'Sends whose outcome was unknown, by reason', label: 'reason' },
  unknown_resolved: { help: 'Unknown outcomes that were resolved, by evidence or policy', label: 'by' },
  poison_jobs: { help: 'Jobs that were dropped because they were not ours or had no e-mail', label: 'reason' },
}

/** What Prometheus asks for, read when it asks. */
export function makeMetrics(read: () => Promise<MetricsSnapshot>): {
  contentType: string
  text: () => Promise<string>
} {
  const registry = new Registry()
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const counters = Object.entries(COUNTERS).map(([name, { help, label }]) => ({
    name,
    label,
    counter: new Counter({ name: `${name}_total`, help, labelNames: [label], registers }),
  }))
  const parked = gauge('provider_parked', '1 while the provider is parked and mail waits', ['provider'])
  const waiting = gauge('emails_ready', 'E-mails that could be sent now, counted up to 100 000')
  const oldest = gauge('oldest_waiting_email_seconds', 'How long the oldest e-mail that could be sent has been due')
  const unknown = gauge('unknown_sends_open', 'E-mails whose outcome is not known yet')
  const dlq = gauge('dlq_size', 'Dead letters')
  const workers = gauge('workers_alive', 'Workers that said so within the last 15 seconds')

  const showSuppression = suppressionMetrics(registry)

  async function text(): Promise<string> {
    const snapshot = await read()
    for (const { name, label, counter } of counters) {
      counter.reset()
      for (const one of snapshot.counters) if (one.name === name) counter.inc({ [label]: one.label }, one.value)
    }
    parked.reset()
    for (const provider of snapshot.providers) parked.set({ provider: provider.name }, provider.open ? 1 : 0)
    waiting.set(snapshot.waiting)
    oldest.set(snapshot.oldestWaitingSeconds ?? 0)
    unknown.set(snapshot.unknown)
    dlq.set(snapshot.deadLetters)
    workers.set(snapshot.workers.length)
    showSuppression(snapshot)
    return registry.metrics()
  }

  return { contentType: registry.contentType, text }
}

/** Seed 004 §4, with its names. */
function suppressionMetrics(registry: Registry): (snapshot: MetricsSnapshot) => void {
  const registers = [registry]
  const requests = new Counter({
    name: 'email_send_requests_total',
    help: 'E-mails that were asked for, and whether the suppression list stopped them',
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
    help: 'Entries that left the list: MANUAL by somebody, EXPIRED by themselves',
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
