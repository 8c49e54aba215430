import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { BODY } from './accept.ts'
import { cpuMicros } from './support/claim-cost.ts'
import { type BenchPostgres, startPostgres } from './support/databases.ts'
import { type Load, measure } from './support/measure.ts'
import { type Running, startServer, temporaryFolder } from './support/processes.ts'
import { perSecond, runReference } from './support/reference.ts'
import { writeResults } from './support/results.ts'
import { absoluteTable, interleave, RATIO_HEAD, ROUNDS, ratioRow } from './support/rounds.ts'

const JOBS = Number(process.env.JOBS ?? 20_000)
/** Until all code is compiled, the seldom part of it costs several times as much: after two seconds, 1 % of traces cost a tenth. */
const LOAD: Load = { connections: 64, seconds: Number(process.env.SECONDS ?? 8), warmUpSeconds: 8 }
const WARM_UP_JOBS = 40_000
/** Three times as often as ops/prometheus does. */
const SCRAPE_MS = 5_000
const TRACED_SHARE = 0.01

const NAMES = ['off', 'logs and metrics', '1 % traced'] as const
type Telemetry = (typeof NAMES)[number]

/** Accepting and draining with logs and metrics, and with traces, against both off. */
export async function benchTelemetry(): Promise<void> {
  const postgres = await startPostgres()
  const collector = await startServer('otlp-sink.js')
  const folder = temporaryFolder()
  const parts = { postgres, collector, folder }
  try {
    const drained = await interleave(each(name => () => drain(name, parts)))
    const accepted = await interleave(
      each(name => () => accept(name, parts)),
      { show: ({ perSecond, micros }) => `${perSecond.toFixed(0)}/s ${micros.toFixed(0)} µs` },
    )
    const rates = each(name => accepted[name].map(one => one.perSecond))
    const costs = each(name => accepted[name].map(one => one.micros))
    writeResults('telemetry', [
      `${ROUNDS} rounds. Logs: LOG_LEVEL=info to a file, against silent. Metrics: scraped every ${SCRAPE_MS} ms, against never. Traces: ${TRACED_SHARE * 100} % of the e-mails, exported to a collector that keeps nothing. Drain: ${JOBS} e-mails of ten companies after ${WARM_UP_JOBS} others, concurrency 100, direct lane. Accept: ${LOAD.connections} connections, ${LOAD.seconds} s after ${LOAD.warmUpSeconds} others. A gateway and a database of its own for each round. The processor time is that of the gateway; other work on the machine changes it little.`,
      '',
      ...RATIO_HEAD,
      ...NAMES.slice(1).flatMap(name => [
        ratioRow(`drain, ${name} ÷ off`, '≥ 0.95', drained[name], drained.off),
        ratioRow(`accept, ${name} ÷ off`, '≥ 0.95', rates[name], rates.off),
        ratioRow(`processor time per accepted e-mail, off ÷ ${name}`, '≥ 0.95', costs.off, costs[name]),
      ]),
      '',
      ...absoluteTable('e-mails drained per second', drained),
      '',
      ...absoluteTable('e-mails accepted per second', rates),
      '',
      ...absoluteTable('µs of processor time per accepted e-mail', costs),
    ])
  } finally {
    await collector.stop()
    await postgres.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Parts = { postgres: BenchPostgres; collector: Running; folder: string }

const each = <T>(of: (name: Telemetry) => T) =>
  Object.fromEntries(NAMES.map(name => [name, of(name)])) as Record<Telemetry, T>

const isLogged = (name: Telemetry) => name === 'logs and metrics'
const isTraced = (name: Telemetry) => name === '1 % traced'

async function environment(name: Telemetry, { postgres, collector, folder }: Parts): Promise<Record<string, string>> {
  const file = join(folder, 'log')
  rmSync(file, { force: true })
  return {
    ...{ ENCRYPTION_KEY: 'ab'.repeat(32), HASH_PEPPER: 'pepper '.repeat(8), REDIS_URL: '', PORT: '0' },
    ...{ DATABASE_URL: await postgres.fresh(), WORKER_CONCURRENCY: '100', LOG_FILE: file },
    LOG_LEVEL: isLogged(name) ? 'info' : 'silent',
    OTEL_EXPORTER_OTLP_ENDPOINT: isTraced(name) ? collector.url : '',
    OTEL_TRACES_SAMPLER_ARG: String(TRACED_SHARE),
    TRACED_SHARE: isTraced(name) ? String(TRACED_SHARE) : '0',
  }
}

async function drain(name: Telemetry, parts: Parts): Promise<number> {
  const jobs = {
    JOBS: String(JOBS),
    WARM_UP_JOBS: String(WARM_UP_JOBS),
    SCRAPE_MS: isLogged(name) ? String(SCRAPE_MS) : '0',
  }
  return perSecond(await runReference('telemetry-ours.js', { ...(await environment(name, parts)), ...jobs }))
}

type Accepted = { perSecond: number; micros: number }

async function accept(name: Telemetry, parts: Parts): Promise<Accepted> {
  const server = await startServer('telemetry-ours.js', { ...(await environment(name, parts)), ROLE: 'api' })
  const scrape = () =>
    fetch(`${server.url}/metrics`).then(
      answer => answer.text(),
      () => 'it stops',
    )
  const scraping = isLogged(name) ? setInterval(() => void scrape(), SCRAPE_MS) : undefined
  const apiKey = /sk_live_\w+/.exec(server.output)![0]
  try {
    const target = { name, url: server.url, headers: { 'x-api-key': apiKey }, body: JSON.stringify(BODY) }
    await measure(target, { ...LOAD, seconds: LOAD.warmUpSeconds, warmUpSeconds: 0 })
    const before = cpuMicros(server.pid)
    const { perSecond, refused } = await measure(target, { ...LOAD, warmUpSeconds: 0 })
    if (refused > 0) throw new Error(`${refused} requests were refused`)
    return { perSecond, micros: (cpuMicros(server.pid) - before) / (perSecond * LOAD.seconds) }
  } finally {
    clearInterval(scraping)
    await server.stop()
  }
}
