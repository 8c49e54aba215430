import { startPostgres } from './support/databases.ts'
import { spread } from './support/measure.ts'
import { startServer } from './support/processes.ts'
import { runReference } from './support/reference.ts'
import { writeResults } from './support/results.ts'
import { interleave, RATIO_HEAD, ROUNDS, ratioRow } from './support/rounds.ts'

const DELIVERIES = Number(process.env.DELIVERIES ?? 100_000)
const PACED = Number(process.env.PACED_DELIVERIES ?? 20_000)
const RATE = Number(process.env.RATE ?? 400)
const ENDPOINTS = { healthy: 150, failing: 40, hanging: 10 }

type Figures = { delivered: number; p50: number; p95: number; ms: number; cpuMs: number }

/** Healthy endpoints beside failing and hanging ones, and alone. The healthy ones get the same number in both. */
export async function benchWebhooks(): Promise<void> {
  // It comes once a minute and takes a quarter of the machine for some seconds: which of the runs it hits is chance. The line's own
  // vacuum is part of what is measured.
  const postgres = await startPostgres({ autovacuum: 'off' })
  // Two, since what one endpoint does to another inside of a receiver is no concern of the gateway.
  const receiver = await startServer('webhook-receiver.js')
  const badReceiver = await startServer('webhook-receiver.js')
  const all = ENDPOINTS.healthy + ENDPOINTS.failing + ENDPOINTS.hanging
  const measured = (bad: boolean, deliveries: number, rate: number) => async () =>
    (await runReference('webhooks-ours.js', {
      DATABASE_URL: await postgres.fresh(),
      REDIS_URL: '',
      ENCRYPTION_KEY: 'ab'.repeat(32),
      HASH_PEPPER: 'pepper '.repeat(8),
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      RECEIVER_URL: receiver.url,
      BAD_RECEIVER_URL: badReceiver.url,
      HEALTHY: String(ENDPOINTS.healthy),
      FAILING: String(bad ? ENDPOINTS.failing : 0),
      HANGING: String(bad ? ENDPOINTS.hanging : 0),
      DELIVERIES: String((deliveries * ENDPOINTS.healthy) / all),
      RATE: String((rate * ENDPOINTS.healthy) / all),
    })) as unknown as Figures
  try {
    const figures = await interleave({
      'all at once, alone': measured(false, DELIVERIES, 0),
      'all at once, beside': measured(true, DELIVERIES, 0),
      'paced, alone': measured(false, PACED, RATE),
      'paced, beside': measured(true, PACED, RATE),
    })
    const of = (name: keyof typeof figures, pick: (one: Figures) => number) => figures[name].map(pick)
    const p95 = (name: keyof typeof figures) => of(name, one => one.p95)
    const perSecond = (one: Figures) => (one.delivered * 1000) / one.ms
    const cpu = (one: Figures) => (one.cpuMs * 1000) / one.delivered
    writeResults('webhooks', [
      `${DELIVERIES} deliveries to ${all} endpoints, 20 % of which answer 500 and 5 % never answer, against the same deliveries of the healthy ones alone; once all at once, and once ${PACED} of them at ${RATE} a second. From the commit to the receiver's answer. One process delivers; receivers, Postgres and it share the two cores. Autovacuum is off. The last ratio is what the deliveries cost in processor time, in the gateway and in its connections to Postgres; other work on the machine changes it little. ${ROUNDS} rounds, every other one in the reverse order.`,
      '',
      ...RATIO_HEAD,
      ratioRow(
        "healthy endpoints' p95 beside ÷ alone, all at once",
        '≤ 1.1',
        p95('all at once, beside'),
        p95('all at once, alone'),
      ),
      ratioRow("healthy endpoints' p95 beside ÷ alone, paced", '≤ 1.1', p95('paced, beside'), p95('paced, alone')),
      ratioRow(
        'processor time per healthy delivery beside ÷ alone, all at once',
        '≤ 1.1',
        of('all at once, beside', cpu),
        of('all at once, alone', cpu),
      ),
      '',
      '| | p50 ms | p95 ms | healthy deliveries per second | µs of processor time each |',
      '|---|---|---|---|---|',
      ...Object.keys(figures).map(key => {
        const name = key as keyof typeof figures
        return `| ${name} | ${spread(of(name, one => one.p50))} | ${spread(p95(name))} | ${spread(of(name, perSecond))} | ${spread(of(name, cpu))} |`
      }),
    ])
  } finally {
    await receiver.stop()
    await badReceiver.stop()
    await postgres.close()
  }
}
