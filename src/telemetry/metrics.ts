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
}

/** Counted in Postgres, so that neither a crash nor the number of processes falsifies them. */
const COUNTERS: Record<string, { help: string; label: string }> = {
  unknown_sends: { help: 'Sends whose outcome was unknown, by reason', label: 'reason' },
  unknown_resolved: { help: 'Unknown outcomes that were resolved, by evidence or policy', label: 'by' },
  poison_jobs: { help: 'Jobs that were dropped because they were not ours or had no e-mail', label: 'reason' },
  webhook_deliveries: { help: 'Attempts to deliver a webhook, by what came of them', label: 'outcome' },
  webhook_endpoints_disabled: {
    help: 'Webhook endpoints that were disabled because they failed or are gone',
    label: 'reason',
  },
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

  const webhooks = gauge('webhook_backlog', 'Webhooks that wait, for now or for a retry, each counted up to 100 000')
  const oldestWebhook = gauge('webhook_oldest_ready_seconds', 'Age of the oldest webhook that could be delivered')
  const disabled = gauge('webhook_endpoints_off', 'Endpoints that are disabled because they failed or are gone')

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
    webhooks.set(snapshot.webhooks.waiting)
    oldestWebhook.set(snapshot.webhooks.oldestSeconds ?? 0)
    disabled.set(snapshot.webhooks.disabled)
    return registry.metrics()
  }

  return { contentType: registry.contentType, text }
}
