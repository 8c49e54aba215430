import { spawn } from 'node:child_process'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { BODY } from './accept.ts'
import { startPostgres } from './support/databases.ts'
import { spread } from './support/measure.ts'
import { writeResults } from './support/results.ts'
import { ROUNDS } from './support/rounds.ts'
import { loadSteadily } from './support/steady-load.ts'

const SECONDS = Number(process.env.SECONDS ?? 8)
const CONNECTIONS = 32

const percentile = (values: number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!

/** One process that accepts and sends: how fast it can at most, and then, at half of that, from the 202 to the provider. */
async function round(databaseUrl: string): Promise<{ mostPerSecond: number; waits: number[] }> {
  const child = spawn('node', [join(import.meta.dirname, 'servers/latency-ours.js')], {
    env: {
      ...process.env,
      ENCRYPTION_KEY: 'ab'.repeat(32),
      HASH_PEPPER: 'pepper '.repeat(8),
      DATABASE_URL: databaseUrl,
      REDIS_URL: '',
      WORKER_CONCURRENCY: '100',
      PORT: '0',
      LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const has = async (pattern: RegExp) => {
    while (!pattern.test(output)) {
      if (child.stdout.readableEnded) throw new Error(`The gateway ended without a word of ${pattern}`)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    return pattern.exec(output)!
  }
  const [, url, apiKey] = await has(/(http:\S+)\n(sk_\S+)\n/)
  const request = {
    url: `${url}/v1/email/send`,
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey! },
    connections: CONNECTIONS,
  }
  const body = JSON.stringify(BODY)
  const fire = (duration: number) => autocannon({ ...request, method: 'POST', body, duration })
  const loadHalf = (perSecond: number, seconds: number) =>
    loadSteadily({ ...request, body: () => body, perSecond, requests: Math.round(perSecond * seconds) })
  await fire(3)
  const most = await fire(SECONDS)
  const mostPerSecond = most.requests.total / most.duration
  // What the full load left waiting is sent before the measurement.
  await new Promise(resolve => setTimeout(resolve, 5_000))
  await loadHalf(mostPerSecond / 2, 2)
  child.kill('SIGUSR2')
  await loadHalf(mostPerSecond / 2, SECONDS)
  await new Promise(resolve => setTimeout(resolve, 500))
  child.kill('SIGTERM')
  const [, waits] = await has(/waits (\[.*\])/)
  return { mostPerSecond, waits: JSON.parse(waits!) }
}

export async function benchLatency(): Promise<void> {
  const postgres = await startPostgres()
  const rounds: Awaited<ReturnType<typeof round>>[] = []
  try {
    for (let n = 1; n <= ROUNDS; n++) {
      const one = await round(await postgres.fresh())
      rounds.push(one)
      console.log(
        `round ${n}: at most ${one.mostPerSecond.toFixed(0)}/s; at half p50 ${percentile(one.waits, 0.5).toFixed(1)} p95 ${percentile(one.waits, 0.95).toFixed(1)} ms (${one.waits.length} e-mails)`,
      )
    }
  } finally {
    await postgres.close()
  }
  const of = (part: number) =>
    spread(
      rounds.map(one => percentile(one.waits, part)),
      1,
    )
  writeResults('latency', [
    `From the 202 to the provider's call, one process that accepts and sends, ${CONNECTIONS} connections, requests at random moments at half of the rate it takes at most (${spread(rounds.map(one => one.mostPerSecond))}/s), ${ROUNDS} rounds of ${SECONDS} s. The load generator shares the two cores.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    `| p50, ms | ≤ 8 | ${of(0.5)} |`,
    `| p95, ms | ≤ 30 | ${of(0.95)} |`,
  ])
}
