import { spawnSync } from 'node:child_process'
import { type Figures, type Load, measure, median, ratios, spread, type Target } from './support/measure.ts'
import { startOurs, startRedis, startServer } from './support/processes.ts'
import { writeResults } from './support/results.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const LOAD: Load = { connections: 64, seconds: Number(process.env.SECONDS ?? 8), warmUpSeconds: 2 }

/** About 300 bytes. */
export const BODY = {
  to: 'cliente@example.com',
  from: 'Loja <noreply@example.com>',
  subject: 'Seu boleto está disponível',
  html: '<p>Olá João,</p><p>Seu boleto de novembro está disponível em <a href="https://example.com/boletos/123">sua conta</a>.</p>',
  externalId: 'BOL-M2-2026-00123',
  tags: ['boleto', 'novembro'],
}

export function databaseUrlOf({ dataDir }: { dataDir: string }): string {
  const { stdout } = spawnSync('node', ['bin/email-gateway.js', 'db', 'url'], {
    env: { ...process.env, DATA_DIR: dataDir },
  })
  return String(stdout).trim()
}

/** Accepting, against an echo without a database and against the way the source documents sketch it. */
export async function benchAccept(): Promise<void> {
  const ours = await startOurs()
  const redis = await startRedis()
  const echo = await startServer('echo.js')
  const seed = await startServer('seed-style.js', {
    DATABASE_URL: databaseUrlOf(ours),
    REDIS_URL: redis.url,
  })
  const headers = { 'x-api-key': ours.apiKey }
  const body = JSON.stringify(BODY)
  const targets: Target[] = [
    { name: 'echo', url: echo.url, headers: {}, body },
    { name: 'ours', url: ours.url, headers, body },
    { name: 'seed-style', url: seed.url, headers: { 'x-api-key': 'sk_live_bench' }, body },
    {
      name: 'batch of 100',
      url: ours.url,
      headers,
      body: JSON.stringify(Array(100).fill(BODY)),
      path: '/v1/email/batch',
    },
  ]
  const figures = new Map<string, Figures[]>(targets.map(target => [target.name, []]))
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      for (const target of targets) {
        const figure = await measure(target, LOAD)
        figures.get(target.name)!.push(figure)
        console.log(
          `round ${round} ${target.name}: ${figure.perSecond.toFixed(0)}/s p50 ${figure.p50Ms} p99 ${figure.p99Ms} refused ${figure.refused}`,
        )
      }
    }
  } finally {
    for (const running of [ours, echo, seed, redis]) await running.stop()
  }
  report(figures)
}

function report(figures: Map<string, Figures[]>): void {
  const perSecond = (name: string) => figures.get(name)!.map(one => one.perSecond)
  const tail = (name: string) => figures.get(name)!.map(one => one.p99Ms / one.p50Ms)
  const emails = perSecond('batch of 100').map(requests => requests * 100)
  const refused = [...figures.values()].flat().reduce((sum, one) => sum + one.refused, 0)
  const row = (what: string, target: string, values: number[]) => `| ${what} | ${target} | ${spread(values, 2)} |`
  writeResults('accept', [
    `${LOAD.connections} connections, body of ${JSON.stringify(BODY).length} bytes, ${ROUNDS} rounds of ${LOAD.seconds} s, embedded Postgres with fsync and synchronous_commit on; refused or failed requests: ${refused}.`,
    '',
    '| figure | target | measured |',
    '|---|---|---|',
    row('accept ÷ echo', '≥ 0.45', ratios(perSecond('ours'), perSecond('echo'))),
    row('accept ÷ seed-style', '≥ 5', ratios(perSecond('ours'), perSecond('seed-style'))),
    row('e-mails per second, batch of 100 ÷ single', '≥ 3', ratios(emails, perSecond('ours'))),
    row("p99/p50 ÷ echo's p99/p50", '≤ 2', ratios(tail('ours'), tail('echo'))),
    '',
    '| per second | p50 ms | p99 ms | |',
    '|---|---|---|---|',
    ...[...figures].map(
      ([name, all]) =>
        `| ${name}: ${spread(all.map(one => one.perSecond))} | ${median(all.map(one => one.p50Ms))} | ${median(all.map(one => one.p99Ms))} | |`,
    ),
  ])
}
